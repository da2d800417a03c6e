"""One trial: kill a run, go on, kill it again, and compare what it ends with."""

import hashlib
import signal
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

from . import children
from .cases import SWEEP
from .deaths import Steps

COMPARED = ("checkpoint.safetensors", "metrics.jsonl", "experiment.toml", "nodes.json")
LINES = {
    signal.SIGINT: "fedadp: stopped; finished rounds are kept",
    signal.SIGTERM: "fedadp: stopped by SIGTERM; finished rounds are kept",
    signal.SIGHUP: "fedadp: stopped by SIGHUP; finished rounds are kept",
}


def sums(folder):
    """SHA-256 of all that must be the same."""
    return {
        f"{path.parent.relative_to(folder)}/{path.name}": hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.name in COMPARED
    }


@dataclass
class Tally:
    """What was done, and what came of it."""

    kills: Counter = field(default_factory=Counter)
    runs: int = 0
    bytes: int = 0  # compared
    differences: list = field(default_factory=list)

    def compare(self, name, folder, whole):
        found = sums(folder)
        self.runs += 1
        self.bytes += sum(p.stat().st_size for p in folder.rglob("*") if p.name in COMPARED)
        if found != whole:
            odd = sorted(n for n in found.keys() | whole.keys() if found.get(n) != whole.get(n))
            self.differences.append(f"{name}: {', '.join(odd)} in {folder}")


class Trials:
    """Runs to kill, in a folder of their own."""

    def __init__(self, home, seed):
        self.home, self.draw, self.tally = Path(home), Random(seed), Tally()
        self.log = self.home / "log"
        self._numbers = count()
        self._whole = {}

    def new(self):
        return self.home / f"run-{next(self._numbers)}"

    def kill(self, experiment):
        """One run, killed up to four times on its way."""
        key = f"{experiment.label}, {experiment.engine.name}, {experiment.model.name}"
        key += f", {experiment.training.participation}"
        if key not in self._whole:
            folder = self.new()
            steps = children.count_steps(experiment, folder, self.log)
            self._whole[key] = sums(folder), steps
        whole, steps = self._whole[key]
        folder, first = self.new(), True
        while True:
            work, after, kind = self._death(experiment, folder, steps)
            code = children.wait(children.fork(work, self.log), after)
            if code == 0:
                break
            assert code == -signal.SIGKILL, f"{key}: exit code {code}\n{self.log.read_text()}"
            self.tally.kills[kind] += 1
            if not first and self.draw.random() < 0.5:
                code = children.wait(children.fork(children.run(experiment, folder), self.log))
                assert code == 0, f"{key}: exit code {code}\n{self.log.read_text()}"
                break
            first = False
        self.tally.compare(key, folder, whole)

    def _death(self, experiment, folder, steps):
        """How the next one dies."""
        every = self.draw.choice([-1.0, -1.0, 0.02])
        if self.draw.random() < 0.25:
            return children.run(experiment, folder, every=every), self.draw.uniform(0, 0.15), "time"
        power_cut = self.draw.random() < 0.3
        hook = Steps(folder, self.draw.randint(1, steps), power_cut, self.draw.random())
        kind = "power cut" if power_cut else "step"
        return children.run(experiment, folder, hook, every), None, kind

    def stop(self, number):
        """A sweep on the command line, stopped by a signal three times and then let go on."""
        folder, file = self.new(), self.home / "sweep.toml"
        file.write_text(SWEEP)
        words = ["run", file, "--json", "--out"]
        if "sweep" not in self._whole:
            whole = self.new()
            code = children.wait(children.fork(children.command([*words, whole]), self.log))
            assert code == 0, self.log.read_text()
            self._whole["sweep"] = sums(whole)
        for _ in range(3):
            log = folder.with_suffix(f".{self.draw.random()}")
            child = children.fork(children.command([*words, folder]), log)
            code = children.wait(child, self.draw.uniform(0.0, 1.0), number)
            if code == 0:
                break
            said = log.read_text()
            name = signal.Signals(number).name
            self.tally.kills[name] += 1
            if number == signal.SIGKILL:
                continue
            assert code == 128 + number, f"{name}: exit code {code}\n{said}"
            assert said.startswith(LINES[number]), said
            assert len(said.splitlines()) == 1, said
        code = children.wait(children.fork(children.command([*words, folder]), self.log))
        assert code == 0, self.log.read_text()
        self.tally.compare("sweep", folder, self._whole["sweep"])
