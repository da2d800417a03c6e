"""Who takes part, kept beside the run: a server that comes back knows whom it knew."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from fedadp.atomic import write_atomically

log = logging.getLogger("fedadp")


@dataclass(frozen=True)
class Member:
    """A node that may take part."""

    number: int
    name: str
    flower: int  # Flower's id, which in a deployment belongs to the node's key
    examples: int


def note(path: Path, model: str, members: Mapping[int, Member]) -> None:
    """Write down who takes part in training this model."""
    told = {"model": model, "members": [asdict(member) for member in members.values()]}
    write_atomically(path, json.dumps(told, indent=1).encode())


def recall(path: Path, model: str) -> dict[int, Member]:
    """Those that were written down; nobody, where it was for another model or cannot be read."""
    try:
        told = json.loads(path.read_bytes())
        if told["model"] != model:
            return {}
        found = [
            Member(**{f.name: entry[f.name] for f in fields(Member)}) for entry in told["members"]
        ]
        return {int(member.number): member for member in found}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("%s: cannot be read (%s); the nodes are met anew", path, error)
        return {}
