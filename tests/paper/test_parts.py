import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedadp.cli import app
from fedadp.errors import SettingError
from fedadp.experiment import load, load_cells
from fedadp.paper.parts import PARTS_WITH_FILES, plan
from fedadp.paper.published import TABLE_1

PAPER = Path(__file__).parents[2] / "paper"
STRATEGIES = 'strategy = ["fedavg", "fedadp"]'
SMALL = f"""
rounds = 6
target = 0.5
seed = [0, 1]
{STRATEGIES}
data = {{ name = "synthetic", examples = 3000, test = 100, shape = [1, 4, 4] }}
model = "mlr"
partition = {{ name = "paper", iid = 2, skewed = 2, examples = 30 }}
training = {{ learning_rate = 0.1 }}
"""
CELLS = """
[cells]
mnist-case1 = {}
mnist-case2 = { partition = { classes = 2 } }
"""


@pytest.fixture
def folder(tmp_path):
    alphas = 'strategy = ["fedadp", { name = "fedadp", alpha = 2 }]'
    for part in PARTS_WITH_FILES:
        cell = "mnist-mixed" if part == "fig2" else "mnist-5+5-1"
        text = SMALL.replace(STRATEGIES, alphas) if part == "fig5" else SMALL
        (tmp_path / f"{part}.toml").write_text(f'{text}[cells]\n"{cell}" = {{}}\n')
    (tmp_path / "fig7.toml").write_text(SMALL + CELLS)
    return tmp_path


def paper(folder, *words):
    found = CliRunner().invoke(app, ["paper", *words, "--folder", str(folder)])
    assert found.exit_code == 0, found.output
    return found


def test_a_cells_settings_are_laid_over_the_files(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(SMALL + CELLS)
    cells = load_cells(file)
    assert list(cells) == ["mnist-case1", "mnist-case2"]
    assert len(load(file)) == 8
    first, second = (cells[name][0].partition for name in cells)
    assert (first.classes, second.classes) == (1, 2)
    assert first.examples == second.examples == 30


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("cells = 3", "cells are tables with a name each"),
        ("[cells]", "cells are tables with a name each"),
        ("[cells]\none = 3", "cells.one: it takes a table"),
        ('[cells]\n"../up" = {}', "cannot be a folder's name"),
        ("[cells.one]\nrunds = 3", "cells.one.runds: unknown setting; did you mean 'rounds'?"),
    ],
)
def test_a_cell_that_is_none_is_a_sentence(tmp_path, text, complaint):
    file = tmp_path / "odd.toml"
    file.write_text(text)
    with pytest.raises(SettingError, match=complaint.replace("?", r"\?")):
        load_cells(file)


def test_the_papers_settings_are_the_papers():
    for one in plan(PAPER, ["table1", "fig1", "fig7"]):
        told = one.experiment.training
        assert (told.batch_size, told.learning_rate, told.decay, told.epochs) == (
            32,
            0.01,
            0.995,
            1,
        )
        assert one.experiment.rounds == 300
        assert one.experiment.target == (0.95 if "mnist-" in one.cell[:6] else 0.8)
    assert {one.cell for one in plan(PAPER, ["table1"])} == TABLE_1.keys()
    assert {one.experiment.training.batch_size for one in plan(PAPER, ["fig3"])} == {50}


def test_parts_share_the_runs_they_have_in_common():
    homes = {one.home for one in plan(PAPER, ["table1"])}
    assert {one.home for one in plan(PAPER, ["fig4"])} == homes
    shared = [one for one in plan(PAPER, ["fig1"]) if one.home in homes]
    assert len(shared) == 12
    table = {one.home: one.experiment for one in plan(PAPER, ["table1"])}
    assert all(table[one.home] == one.experiment for one in shared)


def test_a_part_is_run_drawn_and_not_run_again(folder):
    found = json.loads(paper(folder, "fig7", "--json").stdout)
    assert found["fig7"]["runs"] == found["fig7"]["finished"] == 8
    metrics = folder / "results" / "mlr" / "mnist-case2" / "fedadp-seed-1" / "metrics.jsonl"
    before = metrics.stat().st_mtime_ns
    picture = folder / "figures" / "fig7.svg"
    first = picture.read_bytes()
    paper(folder, "fig7", "--quiet")
    assert metrics.stat().st_mtime_ns == before
    assert picture.read_bytes() == first
    page = (folder / "README.md").read_text()
    assert "![Figure 7: nodes of every degree of skew](figures/fig7.svg)" in page
    assert "8 of 8 runs finished; seeds 0, 1" in page
    for part in ("table1", "readings"):
        assert page.count(f"Nothing has been run yet: `fedadp paper {part}`") == 1


def test_every_figure_can_be_drawn(folder):
    paper(folder, "all", "--seeds", "1", "--quiet")
    drawn = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert drawn == {"fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "theory"}
    for path in (folder / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert "| cnn-valid | normalised | mnist-5+5-1 | 133 | " in (folder / "README.md").read_text()


def test_status_runs_nothing(folder):
    found = paper(folder, "status")
    assert "0 of 4" in found.stdout
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fig9"], "PART: unknown part 'fig9'; did you mean"),
        (["fig1", "--cell", "mnist-5+5"], "--cell: no cell 'mnist-5+5' here; did you mean"),
        (["fig1", "--cnn", "large"], "--cnn: 'large' is no reading; it takes cnn or cnn-valid"),
        (["fig1", "--folder", "nowhere"], "run this in a checkout of the project"),
    ],
)
def test_what_is_not_there_is_one_sentence(words, complaint):
    where = [] if "--folder" in words else ["--folder", str(PAPER)]
    found = CliRunner().invoke(app, ["paper", *words, *where])
    assert found.exit_code == 2
    assert complaint in found.output
    assert "Traceback" not in found.output
