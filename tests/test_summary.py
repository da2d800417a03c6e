import io
from pathlib import Path

import pytest
from rich.console import Console

from fedadp import Experiment, FedAdp, FedAvg
from fedadp.report import progress
from fedadp.report.progress import Watcher
from fedadp.report.summary import summarize, table
from fedadp.runs import Run


def run(strategy, seed, *accuracies):
    records = tuple({"round": i, "accuracy": a} for i, a in enumerate(accuracies, start=1))
    return Run(Experiment(strategy=strategy, seed=seed), Path(), records)


RUNS = [
    run(FedAvg(), 0, 0.1, 0.2, 0.3, 0.9),
    run(FedAdp(), 0, 0.1, 0.95),
    run(FedAvg(), 1, 0.1, 0.9),
    run(FedAdp(), 1, 0.95),
    run(FedAvg(), 2, 0.1, 0.2),
    run(FedAdp(), 2, 0.1, 0.9),
]


def test_savings_are_measured_seed_by_seed_against_the_first_strategy():
    fedavg, fedadp = summarize(RUNS, 0.9)
    assert fedavg.rounds_to_target == (4, 2, None)
    assert fedadp.rounds_to_target == (2, 1, 2)
    assert fedavg.saved == (0.0, 0.0, None)
    assert fedadp.saved == (0.5, 0.5, None)
    assert fedadp.best_accuracy == (0.95, 0.95, 0.9)
    longer = summarize([run(FedAvg(), 0, 0.9), run(FedAdp(), 0, 0.1, 0.2, 0.3, 0.9)], 0.9)
    assert longer[1].saved == (-3.0,)


def test_the_table_says_what_was_not_reached_and_for_how_many_seeds():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table(summarize(RUNS, 0.9), 0.9))
    told = console.export_text()
    assert "rounds to 90 %" in told
    assert "4 (2 to > 4)" in told
    assert "50.0% (of 2 seeds)" in told


def test_a_round_whose_accuracy_is_the_target_reaches_it():
    assert Experiment(target=0.9).ends_with({"round": 1, "accuracy": 0.9})
    assert not Experiment(target=0.9).ends_with({"round": 1, "accuracy": 0.8999})
    assert run(FedAvg(), 0, 0.5).rounds_to(0.5) == 1


def test_progress_on_a_pipe_is_lines_with_accuracy_weights_and_time_left(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with Watcher(Console(stderr=True, width=200)) as watcher:
        tell = watcher.begin(Experiment(rounds=200))
        for number in (101, 102, 103):  # a run that goes on after round 100
            clock[0] += 60.0
            tell({"round": number, "accuracy": 0.5, "weight": [0.1, 0.9], "refused": {"4": "nan"}})
    told = capsys.readouterr().err
    assert "round 103/200, accuracy 50.00%  ▁█, at most 97.0 min left" in told
    assert "node 4 left out, for nan" in told


def test_quiet_progress_says_only_what_went_wrong(capsys):
    with Watcher(Console(stderr=True, width=200), quiet=True) as watcher:
        watcher.begin(Experiment())({"round": 1, "weight": [1.0], "refused": {"4": "nan"}})
    assert capsys.readouterr().err.strip() == "fedadp, seed 0: round 1, node 4 left out, for nan"


@pytest.mark.parametrize("nodes", [1, 30, 31, 1000])
def test_the_weights_of_many_nodes_fit_on_a_line(nodes):
    assert len(progress.spark([1 / nodes] * nodes)) <= 31
