import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from fedadp.cli import app

TOY = """
rounds = 4
strategy = ["fedavg", "fedadp"]
model = "mlr"
data = {name = "synthetic", examples = 300, test = 60, classes = 4}
partition = {name = "paper", iid = 2, skewed = 2, examples = 30}
"""


def fedadp(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.toml"
    path.write_text(TOY)
    return path


def test_help_and_version_do_without_torch():
    for words in (["--help"], ["--version"], ["run", "--help"]):
        code = (
            "import sys; from fedadp.cli import app\n"
            f"try: app({words!r})\nexcept SystemExit as end: assert not end.code\n"
            "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_compare_prints_a_table_and_draws_a_picture(toy, tmp_path):
    result = fedadp(
        "compare", toy, "--out", tmp_path / "out", "--target", "0.5", "--set", "rounds=60"
    )
    assert result.exit_code == 0, result.output
    assert "rounds to 50 %" in result.output
    assert "rounds saved" in result.output
    assert (tmp_path / "out" / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "fedadp-seed-0" / "metrics.jsonl").exists()


def test_json_is_one_document_on_standard_output(toy, tmp_path):
    result = fedadp("compare", toy, "--out", tmp_path / "out", "--json")
    found = json.loads(result.stdout)
    assert [row["strategy"] for row in found["strategies"]] == ["fedavg", "fedadp"]
    assert found["strategies"][0]["rounds"] == [4]
    again = fedadp("run", toy, "--out", tmp_path / "out", "--json")
    assert json.loads(again.stdout) == found


def test_quiet_says_nothing_while_it_works(toy, tmp_path):
    result = fedadp("run", toy, "--out", tmp_path / "out", "--quiet")
    assert result.stderr == ""
    assert "best accuracy" in result.stdout


def test_a_run_goes_on_where_its_folder_left_off(toy, tmp_path):
    words = ["run", toy, "--set", "strategy=fedadp", "--out", tmp_path / "out"]
    assert fedadp(*words).exit_code == 0
    again = fedadp(*words, "--set", "rounds=6")
    assert "goes on, after round 4" in again.stderr
    assert len((tmp_path / "out" / "fedadp-seed-0" / "metrics.jsonl").read_text().splitlines()) == 6
    anew = fedadp(*words, "--restart")
    assert "goes on" not in anew.stderr
    assert len((tmp_path / "out" / "fedadp-seed-0" / "metrics.jsonl").read_text().splitlines()) == 4


def test_runs_side_by_side_end_with_the_same_bits(toy, tmp_path):
    for jobs in ("1", "2"):
        result = fedadp("compare", toy, "--out", tmp_path / jobs, "--jobs", jobs, "--json")
        assert result.exit_code == 0, result.output
    for name in ("fedavg-seed-0/metrics.jsonl", "fedadp-seed-0/checkpoint.safetensors"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    wrong = ["--jobs", "2", "--set", "partition.examples=999", "--out", tmp_path / "3"]
    failed = fedadp("compare", toy, *wrong)
    assert failed.exit_code == 2
    assert "node 0 asks for 999 examples" in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1


def test_a_mistake_is_one_sentence_and_exit_code_2(toy, tmp_path):
    for words, says in [
        (["run", toy, "--set", "strategy=fedapd"], "did you mean 'fedadp'"),
        (["run", tmp_path / "none.toml"], "cannot be read"),
        (["compare", toy, "--strategy", "fedavgg"], "did you mean 'fedavg'"),
        (["data", "fetch", "minst"], "did you mean 'mnist'"),
        (["run", toy, "--set", "partition.examples=999"], "ask for fewer"),
    ]:
        result = fedadp(*words, *(["--out", tmp_path / "o"] if words[0] != "data" else []))
        assert result.exit_code == 2, result.output
        assert says in result.stderr
        assert result.stderr.startswith("fedadp: ")
        assert len(result.stderr.strip().splitlines()) == 1
        assert "Traceback" not in result.output


def test_debug_shows_the_traceback(toy):
    result = fedadp("--debug", "run", toy, "--set", "strategy=fedapd")
    assert type(result.exception).__name__ == "SettingError"


def test_list_names_everything_there_is_with_a_line_each():
    found = json.loads(fedadp("list", "--json").stdout)
    assert found.keys() == {"strategies", "models", "data", "partitions", "engines"}
    assert "fedadp" in found["strategies"]
    for kind in found.values():
        for name, line in kind.items():
            assert line.endswith("."), name
    assert "fedadp" in fedadp("list").output


def test_data_lists_and_draws_who_holds_what(toy, tmp_path):
    assert "synthetic" in fedadp("data").output
    assert json.loads(fedadp("data", "--json").stdout)["synthetic"]["here"] is None
    shown = fedadp("data", "show", toy, "--out", tmp_path / "who.png")
    assert shown.exit_code == 0, shown.output
    assert "1-class" in shown.output
    assert (tmp_path / "who.png").exists()
    assert "ends in .png" in fedadp("data", "show", toy, "--out", tmp_path / "who.pdf").output
    counts = json.loads(fedadp("data", "show", toy, "--json").stdout)["examples_per_class"]
    assert [sum(row) for row in counts] == [30] * 4
    assert sorted(counts[3])[:3] == [0, 0, 0]


def test_ctrl_c_keeps_the_run_says_how_to_go_on_and_exits_with_130(toy, tmp_path):
    out = tmp_path / "out"
    words = [sys.executable, "-m", "fedadp", "run", str(toy), "--out", str(out)]
    words += ["--set", "strategy=fedadp", "--set", "rounds=100000"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    deadline = time.monotonic() + 60
    metrics = out / "fedadp-seed-0" / "metrics.jsonl"
    while time.monotonic() < deadline and not (metrics.exists() and metrics.stat().st_size > 2000):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:  # as a person would, who saw nothing happen
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "without --restart the command goes on there" in said
    assert "Traceback" not in said
    assert (metrics.parent / "checkpoint.safetensors").exists()
    kept = len(metrics.read_text().splitlines())
    rounds = f"rounds={kept + 3}"
    again = fedadp("run", toy, "--out", out, "--set", "strategy=fedadp", "--set", rounds)
    assert again.exit_code == 0, again.output
    assert len(metrics.read_text().splitlines()) == kept + 3
