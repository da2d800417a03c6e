"""What nodes are sent is the app, and not what stands beside it."""

import io
import zipfile

import pytest
from flwr.cli.build import build_fab_from_disk

from fedadp.deploy.bundle import bundle
from fedadp.deploy.init import write_app

SOURCES = {f"app/{name}" for name in ("__init__.py", "client.py", "server.py", "task.py")} | {
    "README.md",
    "pyproject.toml",
    "app/experiment.toml",
}
BESIDE = (
    ".fedadp/state.json", ".fedadp/flower/apps/one/.fedadp/flower/apps/two/.fedadp/a/b/c/d/e.py",
    "runs/deployment/metrics.jsonl", "sites/0.toml", "app/__pycache__/x.py",
)  # fmt: skip


@pytest.fixture
def app(tmp_path):
    folder = tmp_path / "app"
    write_app(folder)
    for name in (*BESIDE, "keys/ca.key", "keys/nodes/node-0"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")
    return folder


def test_the_sources_go_and_the_rest_stays(app, tmp_path):
    (app / ".git").mkdir()
    (app / ".git" / "config.toml").write_text("")
    (app / "data").mkdir()
    (app / "data" / "labels.json").write_text("[]")
    (app / "data" / "pictures.bin").write_bytes(bytes(100))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "old.py").write_text("")
    found = bundle(app, tmp_path / "copy")
    names = {str(path.relative_to(found)) for path in found.rglob("*") if path.is_file()}
    assert names == SOURCES | {".gitignore", "data/labels.json"}


def test_a_folder_of_that_name_further_down_is_the_apps(app, tmp_path):
    (app / "app" / "sites").mkdir()
    (app / "app" / "sites" / "known.toml").write_text("")
    assert (bundle(app, tmp_path / "copy") / "app" / "sites" / "known.toml").exists()


@pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")
def test_flower_packs_the_same_of_a_new_app(app, tmp_path):
    packed = []
    for folder in (app, bundle(app, tmp_path / "copy")):
        content = build_fab_from_disk(folder)
        content = content[0] if isinstance(content, tuple) else content
        with zipfile.ZipFile(io.BytesIO(content)) as bag:
            packed.append({name for name in bag.namelist() if not name.startswith(".info")})
    assert packed[0] == packed[1] == SOURCES
