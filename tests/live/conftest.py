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


@pytest.fixture
def fedadp():
    """Our command line, in a process of its own that ends with the test."""
    children = []

    def begin(*words, **options):
        words = [sys.executable, "-m", "fedadp", *map(str, words)]
        environment = {**os.environ, "COLUMNS": "200"}
        children.append(subprocess.Popen(words, text=True, env=environment, **options))
        return children[-1]

    yield begin
    for child in children:
        if child.poll() is None:
            child.terminate()
            child.communicate(timeout=120)
