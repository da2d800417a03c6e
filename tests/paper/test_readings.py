from dataclasses import replace
from pathlib import Path

from fedadp import Experiment, Run
from fedadp.paper.readings import Reading

BASE = Experiment(rounds=300, target=0.95)


def run(arrives, rounds=300):
    """A run that reaches its target in this round, or never."""
    numbers = range(1, (arrives or rounds) + 1)
    records = [{"round": n, "accuracy": 0.95 if n == arrives else 0.5} for n in numbers]
    return Run(replace(BASE, rounds=rounds), Path(), tuple(records))


def reading(fedavg, fedadp, **options):
    runs = {"fedavg": {0: run(fedavg, **options)}, "fedadp": {0: run(fedadp, **options)}}
    return Reading("cnn-valid", "normalised", "mnist-5+5-1", runs)


def test_a_reading_is_held_against_the_paper():
    # the paper has 133 and 61: twice as many and half as many are both off by a factor of 2
    row = "| cnn-valid | normalised | mnist-5+5-1 | 133 | 266 | 61 | 61 | 1.41 |"
    assert reading(266, 61).row() == row
    assert [round(off.log, 4) for off in reading(266, 61).off()] == [0.6931, 0.0]


def test_a_run_that_never_arrived_is_off_by_at_least_so_much():
    assert reading(None, 61).row().endswith("| 133 | > 300 | 61 | 61 | at least 1.50 |")


def test_a_run_that_was_too_short_to_tell_tells_nothing():
    assert reading(None, 50, rounds=60).row().endswith("| 133 | > 60 | 61 | 50 | 1.22 |")
