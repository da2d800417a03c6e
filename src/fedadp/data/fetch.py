"""Known data sets, fetched once, checked every time, and kept in a folder all processes share."""

from __future__ import annotations

import hashlib
import http.client
import logging
import os
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_dir

from fedadp.data.mirrors import Mirror
from fedadp.data.recipes import RECIPES, Recipe
from fedadp.errors import DataError, nearest

log = logging.getLogger("fedadp")

FAILURES = (  # what a mirror may die of
    OSError,
    EOFError,
    DataError,
    zlib.error,
    tarfile.TarError,
    http.client.HTTPException,
)


def data_folder() -> Path:
    """Where fetched files are kept: FEDADP_DATA, or a folder in the user's cache."""
    chosen = os.environ.get("FEDADP_DATA")
    return Path(chosen).expanduser() if chosen else Path(user_cache_dir("fedadp")) / "data"


def cached(name: str, recipes: Mapping[str, Recipe] = RECIPES) -> bool:
    """Whether every file of a data set is here and undamaged."""
    return not _missing(data_folder() / name, _recipe(name, recipes))


def fetch(
    name: str,
    report: Callable[[str], None] | None = None,
    recipes: Mapping[str, Recipe] = RECIPES,
) -> Path:
    """The folder that holds a data set's files; `report` is told of each place that is asked."""
    recipe = _recipe(name, recipes)
    folder = data_folder() / name
    if not _missing(folder, recipe):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f"{name}.lock"):
            _fill(folder, recipe, report or log.info)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be written ({_reason(error)}); set FEDADP_DATA to a folder that can"
        ) from error
    return folder


def _fill(folder: Path, recipe: Recipe, report: Callable[[str], None]) -> None:
    missing = _missing(folder, recipe)  # another process may have been here while we waited
    for name in missing:
        if (folder / name).exists():
            log.warning("%s is damaged and is fetched again", folder / name)
    tried = []
    for mirror in recipe.mirrors if missing else ():
        report(f"{folder.name}: asking {mirror}")
        reason = _ask(mirror, folder, recipe, missing)
        missing = _missing(folder, recipe)
        if not missing:
            return
        tried.append(f"{mirror} ({reason or 'not all files are there'})")
    if missing:
        raise DataError(
            f"{folder.name}: {len(missing)} of {len(recipe.sizes)} files could not be had from "
            f"{', '.join(tried) or 'anywhere'}; put {', '.join(missing)} in {folder}, "
            "or try again with a network"
        )


def _ask(mirror: Mirror, folder: Path, recipe: Recipe, missing: list[str]) -> str:
    """Take what a mirror has, and tell why it is not all."""
    answers = mirror.files({name: recipe.sizes[name] for name in missing})
    while True:
        try:
            name, content = next(answers)
        except StopIteration:
            return ""
        except FAILURES as error:
            return _reason(error)
        if hashlib.sha256(content).hexdigest() != recipe.sha256[name]:
            return f"{name} has another checksum"
        partial = folder / f"{name}.part"
        partial.write_bytes(content)
        partial.replace(folder / name)  # whole or not at all


def _missing(folder: Path, recipe: Recipe) -> list[str]:
    return [name for name in recipe.sizes if not _sound(folder / name, recipe.sha256[name])]


def _sound(path: Path, sha256: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except OSError:
        return False


def _recipe(name: str, recipes: Mapping[str, Recipe]) -> Recipe:
    if name not in recipes:
        raise DataError(f"{name!r} is not a data set that can be fetched{nearest(name, recipes)}")
    return recipes[name]


def _reason(error: BaseException) -> str:
    cause = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    if isinstance(cause, OSError):
        cause = cause.strerror or cause
    return " ".join(str(cause).split()) or type(error).__name__
