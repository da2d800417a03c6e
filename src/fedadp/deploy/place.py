"""Where a deployment keeps what it needs to know of itself: a folder in the app's, only ours."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fedadp.deploy.processes import born
from fedadp.errors import RunError

Facts = dict[str, Any]


class Place:
    """The folder `.fedadp` of an app."""

    def __init__(self, app: Path) -> None:
        self.app = app.resolve()
        self.path = self.app / ".fedadp"
        self.logs = self.path / "logs"
        self.flower = self.path / "flower"  # FLWR_HOME
        self.database = self.path / "superlink.db"
        self.pki = self.path / "pki"
        self.runs = self.app / "runs"
        self._facts = self.path / "state.json"

    def check(self) -> frozenset[str]:
        """Whether a Flower app is here, and what its run config knows."""
        try:
            table = tomllib.loads((self.app / "pyproject.toml").read_text(encoding="utf-8"))
            told = table["tool"]["flwr"]["app"]
            told["components"]["serverapp"]
            return frozenset(told.get("config", {}))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(
                f"{self.app}: holds no Flower app; go to its folder, or write one with "
                "`fedadp flower init`"
            ) from error

    def make(self) -> None:
        for folder in (self.path, self.logs, self.flower):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
        (self.path / ".gitignore").write_text("*\n")

    @contextmanager
    def held(self) -> Iterator[None]:
        """One deployment at a time."""
        lock = FileLock(self.path / ".lock")
        try:
            self.make()
            lock.acquire(blocking=False)
        except Timeout:
            raise RunError(
                f"{self.app}: a deployment is up already; see `fedadp flower status`, or end it "
                "with `fedadp flower down`"
            ) from None
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written ({error.strerror or error})") from error
        try:
            yield
        finally:
            lock.release()

    def note(self, **facts: Any) -> None:
        """Add to what other shells may read."""
        mine = {"pid": os.getpid(), "born": born(os.getpid())}
        draft = self._facts.with_suffix(".tmp")
        draft.write_text(json.dumps({**self.facts(), **mine, **facts}, indent=2))
        draft.replace(self._facts)

    def facts(self) -> Facts:
        """What the latest `up` noted."""
        try:
            facts: Facts = json.loads(self._facts.read_text())
        except (OSError, ValueError):
            return {}
        return facts

    def forget(self) -> None:
        """What an earlier deployment left, but for keys and logs."""
        for file in (self._facts, *self.path.glob("superlink.db*")):
            file.unlink(missing_ok=True)

    def owner(self) -> int | None:
        """The process that is `up` now."""
        facts = self.facts()
        pid = facts.get("pid")
        return pid if isinstance(pid, int) and born(pid) == facts.get("born") else None
