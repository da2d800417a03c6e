"""A TOML file that somebody wrote, as a table: read with suspicion."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from fedadp.errors import SettingError, reason

LARGEST_FILE = 100_000
DEEPEST_TABLE = 32


def read_toml(file: Path) -> dict[str, Any]:
    """The table in a file that somebody wrote."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise SettingError(file.name, "over 100 kB; an experiment is a few lines of TOML")
        raw = file.read_bytes()
    except (OSError, ValueError) as error:  # also a path that can be none
        why = getattr(error, "strerror", None) or reason(error)
        raise SettingError(
            str(file), f"cannot be read ({why}); give an experiment's file"
        ) from None
    return parse_toml(raw, str(file))


def parse_toml(raw: bytes, place: str) -> dict[str, Any]:
    """The table in a text that somebody wrote."""
    try:
        table = tomllib.loads(raw.decode())
    except UnicodeDecodeError:
        raise SettingError(place, "not a text in UTF-8; an experiment is a TOML file") from None
    except (ValueError, RecursionError) as error:  # also a number of too many digits
        raise SettingError(place, f"not TOML: {reason(error)}; mend it there") from None
    _check_depth(table, place)
    return table


def _check_depth(table: Any, place: str) -> None:
    """Tables as deep as a well are nobody's settings, and exhaust whoever walks them."""
    layer = [table]
    for _ in range(DEEPEST_TABLE):
        layer = [one for each in layer if isinstance(each, dict) for one in each.values()]
    if layer:
        raise SettingError(
            place, f"tables inside one another, at most {DEEPEST_TABLE} deep; use fewer"
        )
