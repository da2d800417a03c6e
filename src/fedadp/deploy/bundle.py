"""What of an app is handed to the server, and by it to every node: its sources."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

KINDS = {".py", ".toml", ".md", ".yaml", ".yml", ".json", ".jsonl"}  # that Flower takes
NAMES = {"LICENSE", ".gitignore"}
CACHE = "__pycache__"
# what a run leaves behind, what a node says of its data, and what is installed
BESIDE = {"runs", "sites", "site.toml", "venv", "env"}


def bundle(app: Path, target: Path) -> Path:
    """A fresh copy, without what is hidden: Flower would pack our own state with the app."""
    shutil.rmtree(target, ignore_errors=True)
    for folder, inside, files in os.walk(app):
        here = Path(folder)
        left = BESIDE if here == app else set()
        inside[:] = [name for name in inside if name[0] != "." and name not in left | {CACHE}]
        for name in files:
            wanted = name in NAMES or (Path(name).suffix in KINDS and name[0] != ".")
            if wanted and name not in left:
                copy = target / here.relative_to(app) / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(here / name, copy)
    return target
