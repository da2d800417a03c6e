"""What is up, and what came of it; and ending it from another shell."""

from __future__ import annotations

import json
import os
import signal
import time
import tomllib
from pathlib import Path
from typing import Any

from fedadp.deploy.control import Control
from fedadp.deploy.place import Place
from fedadp.deploy.ports import answers
from fedadp.deploy.processes import end, marked
from fedadp.errors import RunError

SECONDS_TO_END = 60.0


def status(app: Path) -> dict[str, Any]:
    """The truth about a deployment: asked of the server, the processes and the run folder."""
    place = Place(app)
    place.check()
    facts = place.facts()
    found: dict[str, Any] = {
        "up": place.owner() is not None,
        "processes": len(list(marked(place.path))),
        "server": False,
        "nodes": None,
        "run": None,
        "rounds": rounds(Path(facts["folder"])) if facts.get("folder") else None,
    }
    if "run" in facts:
        said = facts.get("status", "unknown")
        found["run"] = {"id": facts["run"], "status": said, "details": facts.get("details", "")}
    if "port" in facts and found["processes"]:
        found["server"] = answers(facts["port"], Path(facts["keys"]) / "ca.crt")
    if found["server"]:
        control = Control(place.flower)
        try:
            states = list(control.nodes().values())
            found["nodes"] = {"online": states.count("online"), "registered": len(states)}
            if "run" in facts:
                now = control.run(facts["run"])
                found["run"] = {"id": facts["run"], "status": now.status, "details": now.details}
        except RunError:  # it went away while it was asked
            found["server"] = False
    return found


def rounds(folder: Path) -> dict[str, Any] | None:
    """How far the run is, from what it keeps on disk."""
    try:
        wanted = tomllib.loads((folder / "experiment.toml").read_text(encoding="utf-8"))["rounds"]
        lines = (folder / "metrics.jsonl").read_bytes().splitlines(keepends=True)
        records = [json.loads(line) for line in lines if line.endswith(b"\n")]
    except (OSError, ValueError, KeyError):
        return None
    scores = [record["accuracy"] for record in records if record.get("accuracy") is not None]
    return {
        "done": len(records),
        "of": wanted,
        "abandoned": sum("abandoned" in record for record in records),
        "accuracy": scores[-1] if scores else None,
        "folder": str(folder),
    }


def sentences(found: dict[str, Any]) -> list[str]:
    """The same, for people."""
    count, nodes, run = found["processes"], found["nodes"], found["run"]
    lines = [f"{'up' if found['up'] else 'down'}, {_processes(count)}"]
    if count and not found["up"]:
        lines[0] += " left behind; `fedadp flower down` ends them"
    if count:
        lines.append(f"server: {'answers' if found['server'] else 'does not answer'}")
    if nodes:
        lines.append(f"nodes: {nodes['online']} of {nodes['registered']} online")
    if run:
        why = "" if run["details"] in ("", "N/A") else f" ({run['details']})"
        lines.append(f"run {run['id']}: {run['status']}{why}")
    if far := found["rounds"]:
        score = "" if far["accuracy"] is None else f", accuracy {far['accuracy']:.2%}"
        lines.append(f"rounds: {far['done']} of {far['of']}{score}, in {far['folder']}")
    return lines


def down(app: Path) -> str:
    """End a deployment, orphans included, from any shell; what was done."""
    place = Place(app)
    place.check()
    owner = place.owner()
    if owner is not None:
        os.kill(owner, signal.SIGTERM)
        begin = time.monotonic()
        while place.owner() == owner:
            if time.monotonic() - begin > SECONDS_TO_END:
                os.kill(owner, signal.SIGKILL)
            time.sleep(0.1)
    left = end(place.path)
    if owner is not None:
        return "the deployment has ended" + (f", and {_processes(left)} it left" if left else "")
    return f"ended {_processes(left)} left behind" if left else "nothing is up"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"
