"""Bad input is answered with one sentence and exit code 2; here is the table."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedadp.cli import app

from . import checkpoints, commands, experiments, inputs, models, strategies, worse

TABLE = [
    *experiments.ROWS, *commands.ROWS, *inputs.ROWS, *models.ROWS, *strategies.ROWS,
    *checkpoints.ROWS, *worse.ROWS,
]  # fmt: skip


@pytest.fixture
def spoil(tmp_path, monkeypatch):
    """Puts a row's file and what belongs to it in place; the words to give come back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    places = {"file": tmp_path / "trial.toml", "out": tmp_path / "out", "folder": tmp_path}

    def put(row):
        raw = row.toml.encode() if isinstance(row.toml, str) else row.toml
        places["file"].write_bytes(raw)
        row.prepare(tmp_path)
        return [
            word.format(**places) if word.startswith("{") else word for word in row.words
        ], places

    return put


def answered(row, said, places):
    lines = said.strip().splitlines()
    assert len(lines) == 1, said
    assert lines[0].startswith("fedadp: ")
    for part in (row.place, row.value, row.way):
        assert part.format(**places) in lines[0], said


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_bad_input_is_one_sentence_with_place_value_and_way_out(row, spoil):
    words, places = spoil(row)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2, (result.output, result.exc_info)
    answered(row, result.stderr, places)
    assert "Traceback" not in result.output


def test_the_table_is_long():
    assert len(TABLE) >= 60
    assert len({row.name for row in TABLE}) == len(TABLE)


BY_HAND = [
    experiments.ROWS[0],
    commands.ROWS[0],
    inputs.ROWS[0],
    models.ROWS[-1],
    strategies.ROWS[3],
]


@pytest.mark.parametrize("row", BY_HAND, ids=lambda row: row.name)
def test_a_shell_sees_the_same(row, spoil):
    words, places = spoil(row)
    done = subprocess.run(
        [sys.executable, "-m", "fedadp", *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2, done.stderr
    answered(row, done.stderr, places)


def test_debug_shows_the_traceback(spoil):
    words, _ = spoil(strategies.ROWS[3])
    done = subprocess.run(
        [sys.executable, "-m", "fedadp", "--debug", *words],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert "out of ideas" in done.stderr
