"""What a fuzzer begins with, and what it once found: readers keep their promises on it."""

import pytest

from fuzz.targets import TARGETS, target


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_is_read_or_refused(name):
    seeds = list(target(name).seeds())
    assert seeds
    for data in seeds:
        target(name).check(data)


FOUND = [(name, path) for name in TARGETS for path in target(name).findings]


@pytest.mark.parametrize(("name", "path"), FOUND, ids=[f"{n}-{p.name}" for n, p in FOUND])
def test_what_was_found_once_is_refused_now(name, path):
    target(name).check(path.read_bytes())


def test_findings_are_there_for_every_reader():
    assert {name for name, _ in FOUND} == set(TARGETS)
