"""The architecture, read from the imports; and the promises that the papers make."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fedadp

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fedadp"

CORE = {
    "compiled", "errors", "randomness", "parallel", "memory", "kernels", "geometry", "cohort",
    "hints", "inmemory", "ondisk", "scaled", "core", "promises", "training", "atomic",
}  # fmt: skip
LEARNING = {"dice", "flat", "local"}
LOOP = CORE | LEARNING | {"loop"}
MAY_IMPORT = {
    **dict.fromkeys(CORE, CORE),
    **dict.fromkeys(LEARNING, CORE | LEARNING),
    "strategies": CORE | {"strategies"},
    "engines": CORE | LEARNING | {"engines"},
    "loop": CORE | {"loop"},
    "evaluation": LOOP | {"evaluation"},
    "data": {"core", "errors", "hints", "randomness", "data"},
    "models": {"errors", "flat", "hints", "places", "randomness"},
    "settings": {"errors", "hints", "places"},
    "tables": {"errors"},
    "places": {"errors"},
    "quorum": {"errors", "hints", "randomness"},
    "runtime": LOOP | {"engines", "models", "quorum"},
    "federation": CORE | {"data"},
    "states": {"errors"},
    "checkpoint": {"atomic", "errors", "loop", "states"},
    "stopping": set(),
    "lock": {"errors"},
    "changes": {"errors"},
    "console": set(),
    "testing": LOOP | {"engines", "flower", "quorum", "states", "strategies", "testing"},
    "experiment": CORE | {"data", "models", "runtime", "settings", "strategies", "tables"},
    "runs": {"errors", "experiment"},
    "folder": {"atomic", "changes", "checkpoint", "errors", "experiment", "federation", "lock"}
    | {"loop", "promises", "runs", "states"},
    "keeper": {"errors", "folder", "loop"},
    "drive": LOOP
    | {"evaluation", "experiment", "federation", "flower", "folder", "keeper", "runs", "stopping"},
    "flower": LOOP
    | {"checkpoint", "data", "drive", "engines", "experiment", "federation", "flower", "quorum"}
    | {"runs", "settings", "strategies", "tables"},
    "deploy": {"deploy", "errors", "guard"},
    "catalogue": {"data", "models", "runtime", "strategies"},
    "report": {"", "console", "drive", "errors", "experiment", "federation", "parallel", "report"}
    | {"runs", "stopping"},
    "guard": {"", "errors", "stopping"},
    "usage": {"guard"},
    "paper": LOOP
    | {"console", "drive", "experiment", "federation", "guard", "models", "paper", "report"}
    | {"runs", "strategies"},
    "__main__": {"", "cli", "stopping"},
    "cli": {
        "",
        "catalogue",
        "console",
        "data",
        "deploy",
        "errors",
        "experiment",
        "federation",
        "guard",
        "paper",
        "report",
        "usage",
    },
}


def modules():
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], path


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize(("room", "path"), list(modules()), ids=str)
def test_imports_follow_the_arrows(room, path):
    assert room in MAY_IMPORT, f"{path.name} is in no room of the house"
    for name in imported(path):
        if name.split(".")[0] == "fedadp":
            target = [*name.split("."), ""][1]
            assert target in MAY_IMPORT[room], f"{room} may not import {name}"


def test_core_and_strategies_need_nothing_but_torch_and_numpy():
    known = sys.stdlib_module_names | {"torch", "numpy", "safetensors", "numba", "fedadp"}
    for room, path in modules():
        if room in CORE | LEARNING | {"strategies", "engines", "loop"}:
            for name in imported(path):
                assert name.split(".")[0] in known, f"{path.name} imports {name}"


def test_importing_fedadp_imports_no_torch():
    code = "import sys, fedadp; assert 'torch' not in sys.modules; fedadp.FedAdp"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_these():
    assert fedadp.__all__ == [
        "Cohort", "Engine", "Examples", "Experiment", "FedAdp", "FedAvg", "FedProx", "FedSGD",
        "FedadpError", "Geometry", "Instructions", "Model", "Momentum", "Robust", "Round", "Run",
        "Runtime", "Step", "Strategy", "Training", "Weighed", "Weighting", "Wrapping",
        "__version__", "federate", "load", "open_run", "run",
    ]  # fmt: skip
    for name in fedadp.__all__:
        assert getattr(fedadp, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'FedApd'"):
        _ = fedadp.FedApd


def test_no_file_is_longer_than_300_lines():
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert len(path.read_text().splitlines()) <= 300, path


def test_types_are_shipped():
    assert (SOURCE / "py.typed").exists()


def test_the_changelog_knows_this_version():
    assert f"## [{fedadp.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_what_the_two_commands_install_is_pinned():
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for wanted in [*project["dependencies"], *extras["dev"], *extras["hub"]]:
        name = wanted.split(">")[0].split("[")[0].lower()
        assert name in pinned or name == "fedadp", f"{name} is not pinned"
