"""Flower's own command line, asked in JSON: register keys, submit an app, read the true status."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fedadp.errors import MissingExtraError, RunError

CONNECTION = "here"  # the SuperLink's name in Flower's configuration
SECONDS = 120.0  # for one command; it takes two to ten


class RunState(NamedTuple):
    """What the SuperLink says of a run."""

    status: str  # pending, starting, running, finished:completed, finished:failed, ...
    details: str

    @property
    def over(self) -> bool:
        return self.status.startswith("finished")

    @property
    def died(self) -> bool:
        """Whether its process went away without a word; it did not fail of itself."""
        return self.status == "finished:failed" and "heartbeat" in self.details.lower()

    @property
    def completed(self) -> bool:
        return self.status == "finished:completed"


class Control:
    """A SuperLink's Control API, by way of `flwr`."""

    def __init__(self, home: Path, marks: Mapping[str, str] | None = None) -> None:
        self.environment = {**environment(home), **(marks or {})}

    def register(self, key: Path) -> subprocess.Popen[str]:
        """Let a node in, by its public key; several may be asked for side by side."""
        return self.begin("supernode", "register", str(key), CONNECTION, "--format", "json")

    def submit(self, app: Path, config: Mapping[str, str | bool]) -> int:
        """Start a run; its number."""
        # a run config is read as TOML, and so is what JSON writes
        told = " ".join(f"{key}={json.dumps(value)}" for key, value in config.items())
        words = ["run", str(app), CONNECTION, "--format", "json"]
        return int(self._ask(*words, *(["--run-config", told] if told else []))["run-id"])

    def run(self, number: int) -> RunState:
        found = self._ask("list", CONNECTION, "--run-id", str(number), "--format", "json")
        (one,) = found["runs"]
        return RunState(one["status"], one["status-details"])

    def nodes(self) -> dict[str, str]:
        """Each registered node's status, by Flower's id."""
        found = self._ask("supernode", "list", CONNECTION, "--format", "json")
        return {node["node-id"]: node["status"] for node in found["nodes"]}

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [program("flwr"), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=self.environment,
            start_new_session=True,
        )

    def answer(self, asked: subprocess.Popen[str]) -> dict[str, Any]:
        """What a command says, or why it could not."""
        try:
            said, complained = asked.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            asked.kill()
            asked.communicate()
            raise RunError(f"flwr: no answer within {SECONDS:g} s; is the SuperLink up?") from None
        try:
            found: dict[str, Any] = json.loads(said[said.index("{") :])
        except ValueError:
            found = {}
        if asked.returncode == 0 and found.get("success"):
            return found
        why = str(found.get("error-message") or complained or said)
        raise RunError(f"flwr {_name(asked)}: {' '.join(why.split())[:300] or 'it failed'}")

    def _ask(self, *words: str) -> dict[str, Any]:
        return self.answer(self.begin(*words))


def _name(asked: subprocess.Popen[str]) -> str:
    words = asked.args if isinstance(asked.args, list) else []
    return " ".join(str(word) for word in words[1:3])


def environment(home: Path) -> dict[str, str]:
    """For everything of Flower's: its home, our Python, and nothing sent to anybody."""
    programs = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": os.pathsep.join([programs, os.environ.get("PATH", os.defpath)]),
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.25",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONUNBUFFERED": "1",
    }


def program(name: str) -> str:
    """One of Flower's programs, as installed with us."""
    beside = [str(Path(sys.executable).parent), sysconfig.get_path("scripts")]
    own = sysconfig.get_path("scripts", f"{os.name}_user")
    path = shutil.which(name, path=os.pathsep.join([*beside, own]))
    if path is None:
        raise MissingExtraError(
            f"fedadp flower: Flower's program {name} is not installed; pip install 'fedadp[flower]'"
        )
    return path
