"""The TOML loader: any text, with any changes behind a NUL, is experiments or a SettingError."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from fedadp.errors import FedadpError
from fedadp.experiment import load, parse
from fedadp.tables import parse_toml
from fuzz.sentences import one_sentence

ROOT = Path(__file__).parents[1]
WORDS = (
    b"[data]", b"[partition]", b"[model]", b"[training]", b"[strategy]", b"[engine]",
    b"[engine.quorum]", b"[cells.mild]", b"strategy.inner", b"name = ", b"seed = [", b"rounds = ",
    b"alpha = ", b"smoothing = ", b'"fedadp"', b'"fedavg"', b'"momentum"', b'"robust"',
    b'"paper"', b'"dirichlet"', b'"shards"', b'"synthetic"', b'"batched"', b"nan", b"-inf",
    b"1e400", b"2026-11-19", b"[[strategy]]", b"true", b"'''", b"\x00training.epochs=",
)  # fmt: skip
FILE = Path(tempfile.mkdtemp(prefix="fedadp-fuzz-")) / "experiment.toml"


def check(data: bytes) -> None:
    text, *changes = data.split(b"\0")
    FILE.write_bytes(text)
    try:
        found = load(FILE, [change.decode("utf-8", "replace") for change in changes])
        for one in found[:3]:
            again = parse(parse_toml(one.toml().encode(), "written"))
            assert again == [one]
            assert one.slug
    except FedadpError as error:
        one_sentence(error)


def seeds() -> Iterator[bytes]:
    yield (ROOT / "examples" / "demo.toml").read_bytes()
    yield b'seed = [0, 1]\n[cells.a]\nmodel = "mlr"\n[cells.b]\nstrategy = ["fedavg", "fedprox"]\n'
    yield b'strategy = { name = "momentum", inner = { name = "robust", inner = "fedadp" } }\n'
    yield b'data = { name = "synthetic", shape = [1, 28, 28] }\npartition = "iid"\nmodel = "mlr"\n'
    yield b"[engine]\nname = 'flower'\n[engine.quorum]\nmin_replies = 0.5\ntimeout = 9\n"
    yield b"rounds = 3\0rounds=5\0strategy.alpha=3\0data.name=idx\0seed=[1,2]"
