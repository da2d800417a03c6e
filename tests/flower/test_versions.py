"""The Flowers that are tested are the oldest and the newest of those that may be installed."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_oldest_and_the_newest_flower_are_tested():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    (oldest, end) = re.fullmatch(
        r"flwr\[simulation\]>=1\.(\d+),<1\.(\d+)", extras["flower"][0]
    ).groups()
    pinned = re.search(r"^flwr==1\.(\d+)\.0$", (ROOT / "constraints.txt").read_text(), re.M)
    newest = re.search(r"^NEWEST := 1\.(\d+)\.", (ROOT / "Makefile").read_text(), re.M)
    assert pinned[1] == oldest
    assert int(newest[1]) == int(end) - 1
    assert int(oldest) <= int(version("flwr").split(".")[1]) < int(end)
