"""`fedadp flower up`: a whole deployment on this machine, for as long as its run takes."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

from fedadp.deploy import roles
from fedadp.deploy.bundle import bundle
from fedadp.deploy.control import Control, RunState
from fedadp.deploy.follow import Follower
from fedadp.deploy.pki import Keys
from fedadp.deploy.place import Place
from fedadp.deploy.ports import LOOPBACK, answers, check_free, free_ports
from fedadp.deploy.processes import PROC, end, mark
from fedadp.deploy.status import rounds
from fedadp.deploy.supervisor import Supervisor
from fedadp.errors import DeploymentError, RunError, require

log = logging.getLogger("fedadp")
BEAT = 0.25  # seconds between two looks at the processes
SECONDS_BETWEEN_STATES = 15.0  # each asks a program of Flower's, which takes seconds
SECONDS_TO_START = 120.0
MOST_DEATHS = 3  # of the run's process, one after the other, without a round between them
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be deployed."""

    app: Path
    nodes: int = 3  # on this machine
    port: int | None = None  # of the SuperLink; a free one, unless told
    keys: Path | None = None  # made for this machine, unless told
    proxy: str | None = None  # host:port that nodes go through
    config: dict[str, str | bool] = field(default_factory=dict)  # the run config

    def __post_init__(self) -> None:
        require(0 <= self.nodes <= 64, "--nodes", self.nodes, "a number from 0 to 64")


def up(wanted: Wanted, say: Say) -> RunState:
    """Start everything, run the app, and end everything, whatever happens; how the run ended."""
    place = Place(wanted.app)
    declared = place.check()
    for key in wanted.config:
        if key not in declared:
            raise RunError(f"{place.app / 'pyproject.toml'}: [tool.flwr.app.config] has no {key!r}")
    if not PROC.is_dir():
        raise RunError(
            "fedadp flower up: needs Linux, whose /proc tells which processes are ours; "
            "elsewhere start Flower's programs one by one, as the deployment guide says"
        )
    with signals(), place.held():
        if left := end(place.path):
            say(f"ended {left} processes that an earlier deployment had left behind")
        place.forget()
        return Deployment(place, wanted, say).carry_out()


@contextmanager
def signals() -> Iterator[None]:
    """A signal ends the command, with the exit code that the shell expects."""

    def leave(number: int, _: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Deployment:
    """The processes of one `up`."""

    def __init__(self, place: Place, wanted: Wanted, say: Say) -> None:
        self.place, self.wanted, self._say = place, wanted, say
        self.keys = wanted.keys or place.pki
        self.control = Control(place.flower, mark(place.path, "flwr"))
        self.supervisor = Supervisor(place.path, place.logs, self.control.environment)
        self.port = 0
        self._done = self._deaths = 0  # rounds so far; deaths since one was finished

    def carry_out(self) -> RunState:
        """From the first process to the end of the run; afterwards there are none."""
        state = RunState("stopped", "before its end")
        try:
            self.start()
            state = self.follow(self.submit(self.wanted.config))
            while self._goes_on_after(state):
                going_on = {k: v for k, v in self.wanted.config.items() if k != "restart"}
                state = self.follow(self.submit(going_on))
        finally:
            for number in SIGNALS:  # what follows takes seconds, and must not be cut short
                signal.signal(number, signal.SIG_IGN)
            self.supervisor.stop()
            self.place.note(ended=time.time(), status=state.status, details=state.details)
        return state

    def start(self) -> None:
        """The server, its executor, and the nodes."""
        self._make_keys()
        port, *others = free_ports(1 + self.wanted.nodes)
        if self.wanted.port is not None:
            check_free(port := self.wanted.port)
        self.port = port
        roles.connection(self.place, self.keys, port)
        self.place.note(port=port, nodes=self.wanted.nodes, keys=str(self.keys))
        self._say(f"SuperLink on {LOOPBACK}:{port}, with TLS; logs in {self.place.logs}")
        self.supervisor.start("superlink", roles.superlink(self.place, self.keys, port))
        self._wait_for_server()
        self.supervisor.start("executor", roles.executor(self.keys, port))
        self._register()
        address = self.wanted.proxy or f"{LOOPBACK}:{port}"
        for number, own in enumerate(others):
            words = roles.node(self.place, self.keys, number, len(others), address, own)
            self.supervisor.start(f"node-{number}", words)
        self._say(f"{len(others)} nodes started here")

    def submit(self, config: Mapping[str, str | bool]) -> int:
        """Hand the app to the server; the run's number."""
        app = bundle(self.place.app, self.place.path / "app")
        run = self.control.submit(app, config)
        self.place.note(run=run, folder=config.get("out"))
        self._say(f"run {run} is submitted")
        return run

    def follow(self, run: int) -> RunState:
        """Say what the run says, until it is over."""
        file = self.place.logs / "run.log"
        follower = Follower(self.control, self.place.path, file, run, self._say)
        asked = time.monotonic()
        while True:
            self.tend()
            follower.catch_up()
            time.sleep(BEAT)
            due = SECONDS_BETWEEN_STATES / 5 if follower.over else SECONDS_BETWEEN_STATES
            if time.monotonic() - asked < due:
                continue
            state = self._state(run)
            asked = time.monotonic()
            if state is not None and state.over:
                follower.catch_up()
                return state
            if follower.over:
                follower.again()

    def _goes_on_after(self, state: RunState) -> bool:
        """Whether the run's process died, and has a folder to go on from: then it is begun anew.

        One that failed of itself would do so again; so does one that dies and gets nowhere.
        """
        folder = self.wanted.config.get("out")
        if not state.died or not isinstance(folder, str):
            return False
        found = rounds(Path(folder))
        done = found["done"] if found else 0
        self._deaths = 1 if done > self._done else self._deaths + 1
        self._done = done
        if self._deaths > MOST_DEATHS:
            return False
        self._say("the run's process died; it is submitted again, and goes on in its folder")
        return True

    def tend(self) -> None:
        """Look after the processes; without a server or an executor there is no run."""
        self.supervisor.tend()
        for role in ("superlink", "executor"):
            if self.supervisor.watched[role].given_up:
                words = self.supervisor.last_words(role)
                raise DeploymentError(f"{role}: does not stay up ({words}); see {self.place.logs}")

    def _state(self, run: int) -> RunState | None:
        try:
            return self.control.run(run)
        except RunError as error:  # the server may be on its way back
            log.warning("%s", error)
            return None

    def _make_keys(self) -> None:
        if self.wanted.keys is None:
            Keys(self.keys).make(self.wanted.nodes, [])
            return
        names = ["ca.crt", "server.crt", "server.key", "superexec.secret"]
        names += [f"nodes/node-{number}" for number in range(self.wanted.nodes)]
        for name in names:
            if not (self.keys / name).is_file():
                raise RunError(f"{self.keys / name}: missing; make it with `fedadp flower pki`")

    def _wait_for_server(self) -> None:
        begin = time.monotonic()
        one = self.supervisor.watched["superlink"]
        while not answers(self.port, self.keys / "ca.crt"):
            died = one.child is not None and one.child.poll() is not None
            if died or time.monotonic() - begin > SECONDS_TO_START:
                words = self.supervisor.last_words("superlink")
                raise DeploymentError(f"superlink: did not start ({words}); see {self.place.logs}")
            time.sleep(BEAT)

    def _register(self) -> None:
        """Let in every node whose public key is here, those on other machines too."""
        public = sorted((self.keys / "nodes").glob("*.pub"))
        for begin in range(0, len(public), 4):
            asked = [self.control.register(path) for path in public[begin : begin + 4]]
            for one in asked:
                self.control.answer(one)


def changes(pairs: Sequence[str]) -> str:
    """What `--set` was told, as the run config carries it."""
    for pair in pairs:
        require("=" in pair and not set(pair) & set(" \t\n"), "--set", pair, "KEY=VALUE, no blanks")
    return " ".join(pairs)
