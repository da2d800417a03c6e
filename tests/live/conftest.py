"""Real runs on Flower take minutes: `make test-flower` asks for them, `make test` does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fedadp.data.fetch import fetch

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flower)


@pytest.fixture(scope="session")
def mnist():
    return fetch("mnist")


def fedadp(*words, **options):
    """Our command line, in a process of its own."""
    words = [sys.executable, "-m", "fedadp", *map(str, words)]
    return subprocess.Popen(words, text=True, env={**os.environ, "COLUMNS": "200"}, **options)
