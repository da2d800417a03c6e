"""What the README, the docs and the docstrings show is run as it stands."""

import doctest
import importlib
import pkgutil
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import fedadp
from fedadp.experiment import parse

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [m.name for m in pkgutil.walk_packages(fedadp.__path__, "fedadp.")]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_s_python_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    namespace = {"__name__": "__page__"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_s_experiments_are_valid(page, tmp_path, monkeypatch):
    for block in blocks(page, "toml"):
        assert parse(tomllib.loads(block))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_s_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", MODULES)
def test_a_docstring_s_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_an_example_runs(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
    assert len(script.read_text().splitlines()) <= 60


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.name)
def test_an_example_experiment_is_valid(file):
    assert parse(tomllib.loads(file.read_text()))
