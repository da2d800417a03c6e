"""Data that cannot be learnt from: files that are damaged, and parts of somebody's own."""

import gzip
import struct
from pathlib import Path

from .table import Bad, small

TRAIN_X, TRAIN_Y = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_X, TEST_Y = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def idx(*shape: int, fill: int = 0) -> bytes:
    size = 1
    for side in shape:
        size *= side
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + bytes([fill]) * size


GOOD = {
    TRAIN_X: idx(6, 4, 4),
    TRAIN_Y: idx(6),
    TEST_X: idx(3, 4, 4),
    TEST_Y: idx(3),
}


def damaged(name, file, raw, value, way, place=None):
    """A folder of good files, but for one."""

    def prepare(folder: Path) -> None:
        for known, content in {**GOOD, file: raw}.items():
            if content is not None:
                (folder / known).write_bytes(content)

    toml = small(data='{name = "idx", path = "."}')
    return Bad(name, toml, place or file, value, way, prepare=prepare)


def own(name, data, place, value, way, **parts):
    """A source of somebody's own."""
    return Bad(name, small(data=f'"bad_parts:{data}"', **parts), place, value, way)


def dealt(name, partition, place, value, way):
    return Bad(name, small(partition=partition), place, value, way)


ROWS = [
    damaged("a file that ends early", TRAIN_X, GOOD[TRAIN_X][:-5], "announces", "again"),
    damaged("a header that ends early", TRAIN_X, GOOD[TRAIN_X][:9], "header", "again"),
    damaged("a picture for an array", TRAIN_X, b"\x89PNG\r\n", "89504e47", "give the file"),
    damaged("an empty file", TRAIN_Y, b"", "nothing", "give the file"),
    damaged("floats for bytes", TRAIN_X, b"\0\0\x0d\x03" + bytes(60), "0x0d", "unsigned bytes"),
    damaged("more than memory", TRAIN_X, b"\0\0\x08\x03" + b"\xff" * 12, "announces", "cut up"),
    damaged("half of a gzip", TRAIN_X, gzip.compress(GOOD[TRAIN_X])[:20], "ends", "again"),
    damaged("a gzip of something else", TRAIN_X, b"\x1f\x8bthing", "gzip", "again"),
    damaged("labels for pictures", TRAIN_X, idx(6), "1 dimensions", "another file"),
    damaged("no test labels", TEST_Y, None, "has no", "put it there"),
    damaged("fewer labels than pictures", TRAIN_Y, idx(5), "(5,)", "are needed", "training part"),
    damaged("test pictures of other shape", TEST_X, idx(3, 5, 5), "(1, 5, 5)", "alike", "training"),
    damaged("pictures of no pixels", TRAIN_X, idx(6, 0, 4), "empty", "at least one", "training"),
    damaged("no examples", TRAIN_X, idx(0, 4, 4), "(0, 1, 4, 4)", "are needed", "training part"),
    damaged("one class only", TRAIN_Y, GOOD[TRAIN_Y], "1 class", "2 or more", "data"),
    Bad(
        "no such folder", small(data='{name = "idx", path = "nowhere"}'),
        "nowhere", "has no", "put it there",
    ),
    Bad(
        "nobody's home", small(data='{name = "idx", path = "~nobody-of-this-name/x"}'),
        "data.path", "~nobody-of-this-name", "whole path",
    ),
    own("pixels that are no number", "Clouded", "the training part", "not finite", "leave it out"),
    own("a label out of range", "Mislabelled", "the training part", "label 9", "from 0 to 2"),
    own("a source that raises", "Raising", "data", "the disk is on fire", "mend it"),
    own("a source of nothing", "Nothing", "data", "None", "a Dataset is needed"),
    own("a source that cannot be made", "Demanding", "data.where", "missing", "a text"),
    dealt("no such partition", '"bad_parts:X"', "partition", "'bad_parts:X'", "module:Class"),
    dealt("a partition that raises", '"bad_parts:Dropped"', "partition", "slipped", "mend it"),
    dealt("a node without examples", '"bad_parts:OneStarves"', "node 1", "no examples", "fewer"),
    dealt("examples that are not there", '"bad_parts:TooFar"', "node 1", "99", "from 0 to 59"),
    dealt("no nodes at all", '"bad_parts:Nobody"', "partition", "no node", "at least one"),
    dealt(
        "more of a class than there is", '{name = "paper", examples = 30}',
        "partition.examples", "30", "ask for fewer",
    ),
    dealt(
        "more classes than there are", '{name = "paper", examples = 2, classes = 4}',
        "partition.classes", "4", "ask for fewer",
    ),
    dealt(
        "more nodes than examples", '{name = "iid", nodes = 70}',
        "partition.nodes", "70", "fewer nodes",
    ),
    dealt(
        "shares as uneven as cannot be", '{name = "dirichlet", nodes = 50, beta = 0.001}',
        "partition.minimum", "1", "raise beta",
    ),
]  # fmt: skip
