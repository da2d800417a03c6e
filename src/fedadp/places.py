"""Things of the user's own, by their place: "module:attribute"."""

from __future__ import annotations

import importlib
from typing import Any

from fedadp.errors import reason


def fetch_by_place(name: str) -> Any:
    """What the place names; an ImportError says why there is nothing."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # anybody's module may raise anything
        raise ImportError(f"{type(error).__name__}: {reason(error)}") from error
