"""Run folders that cannot be gone on from."""

from pathlib import Path

from typer.testing import CliRunner

from fedadp.cli import app

from .table import Bad, small


def spoilt(spoil):
    """A run of one round, something done to its folder, and two rounds asked for."""

    def prepare(folder: Path) -> None:
        once, out = folder / "once.toml", folder / "out"
        once.write_text(small())
        made = CliRunner().invoke(app, ["run", str(once), "--out", str(out), "--quiet"])
        assert made.exit_code == 0, made.output
        (run,) = {path.parent for path in out.rglob("experiment.toml")}
        spoil(run)

    return prepare


def each(change):
    """Do this to every checkpoint."""

    def spoil(run: Path) -> None:
        files = [path for path in run.iterdir() if ".safetensors" in path.name]
        assert files
        for path in files:
            path.write_bytes(change(path.read_bytes()))

    return spoil


def another_version(raw):
    assert b"fedadp checkpoint " in raw
    at = raw.index(b"fedadp checkpoint ") + len(b"fedadp checkpoint ")
    return raw[:at] + b"9" + raw[at + 1 :]


def metrics(content):
    return lambda run: (run / "metrics.jsonl").write_bytes(content)


def row(name, spoil, place, value, way, **parts):
    return Bad(name, small(**{"rounds": "2", **parts}), place, value, way, prepare=spoilt(spoil))


ROWS = [
    row("another version", each(another_version), "checkpoint", "checkpoint 9", "--restart"),
    row("half a checkpoint", each(lambda raw: raw[: len(raw) // 2]), "checkpoint", "", "--restart"),
    row("an empty checkpoint", each(lambda raw: b""), "checkpoint", "", "--restart"),
    row("a pickle", each(lambda raw: b"\x80\x04K\x01."), "checkpoint", "", "--restart"),
    row("flipped bits", each(lambda raw: raw[:-3] + b"\xff\0\xff"), "checkpoint", "", "start over"),
    row(
        "a changed experiment",
        lambda run: None,
        "training.epochs",
        "1 there and 2 here",
        "--restart",
        training="{epochs = 2}",
    ),
    row("no metrics", metrics(b""), "metrics.jsonl", "0 rounds", "--restart"),
    row("metrics that are none", metrics(b"null\n"), "metrics.jsonl", "", "--restart"),
]
