"""`fedadp flower init`: a complete Flower app, to be changed in one place."""

from __future__ import annotations

import getpass
import re
from importlib.resources import files
from pathlib import Path
from string import Template

from fedadp.errors import RunError

FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "site.toml": "site.toml",
    "gitignore": ".gitignore",
    "experiment.toml": "{package}/experiment.toml",
    "task.py": "{package}/task.py",
    "server.py": "{package}/server.py",
    "client.py": "{package}/client.py",
}


def write_app(folder: Path) -> list[Path]:
    """Write the app into a folder that is new or empty; the files that it is made of."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise RunError(f"{folder}: holds files already; give a folder that is new or empty")
        return _write(folder)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written ({error.strerror or error})") from error


def _write(folder: Path) -> list[Path]:
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "federation"
    package = re.sub(r"^(?=[0-9])", "app_", name.replace("-", "_"))
    words = {"name": name, "package": package, "publisher": _publisher()}
    scaffold = files("fedadp") / "flower" / "scaffold"
    written = []
    for source, target in FILES.items():
        path = folder / target.format(package=package)
        path.parent.mkdir(exist_ok=True)
        text = (scaffold / f"{source}.txt").read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(words), encoding="utf-8")
        written.append(path)
    start = folder / package / "__init__.py"
    start.write_text('"""A federation, run by fedadp on Flower."""\n', encoding="utf-8")
    return [*written, start]


def _publisher() -> str:
    try:
        return re.sub(r"[^a-z0-9]+", "-", getpass.getuser().lower()) or "nobody"
    except (OSError, KeyError):
        return "nobody"
