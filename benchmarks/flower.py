"""One experiment here, in Flower's simulation and in a deployment: `python -m benchmarks.flower`.

Seconds per round, how far the models are from each other, and the processes that are left.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fedadp import Round, load
from fedadp.checkpoint import load_round, read_head
from fedadp.deploy.init import write_app
from fedadp.deploy.place import Place
from fedadp.deploy.processes import marked

RESULTS = Path(__file__).parent / "flower.json"
SAME = ["model=mlr", "target=0.999", "engine.quorum.min_nodes=3"]
ROUNDS = {"sequential": 30, "threads": 30, "simulation": 30, "deployment": 8}
ENGINES = {"sequential": "sequential", "threads": "threads"}  # elsewhere that of the file


def carried_out(way: str, rounds: int, app: Path, out: Path) -> tuple[float, list[float], Round]:
    """Seconds in all, those of each round, and the last round."""
    changes = [*SAME, f"rounds={rounds}"]
    if way in ENGINES:
        changes = [*changes[:2], changes[-1], f"engine={ENGINES[way]}"]
    told = [word for change in changes for word in ("--set", change)]
    words = ["flower", "up"] if way == "deployment" else ["run", "federation/experiment.toml"]
    begin = time.perf_counter()
    command = [sys.executable, "-m", "fedadp", *words, "--out", str(out), *told]
    subprocess.run(command, check=True, cwd=app, capture_output=True)
    took = time.perf_counter() - begin
    (path,) = out.rglob("checkpoint.safetensors")
    lines = (path.parent / "timings.jsonl").read_text().splitlines()
    digest = read_head(path)["experiment"]
    (experiment,) = load(path.parent / "experiment.toml")
    last = load_round(path, experiment.strategy.init(), digest)
    return took, [json.loads(line)["train"] for line in lines], last


def main() -> None:
    found: dict[str, Any] = {"flwr": version("flwr"), "ray": version("ray")}
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder, "federation")
        write_app(app)
        sys.path.insert(0, str(app))
        for way, rounds in ROUNDS.items():
            took, seconds, last = carried_out(way, rounds, app, app / "runs" / way)
            _, _, here = carried_out("sequential", rounds, app, app / "runs" / f"for-{way}")
            found[way] = {
                "rounds": last.number,
                "seconds in all": took,
                "median of a round": statistics.median(seconds[1:]),
                "seconds": seconds,
                "largest difference": float((last.params - here.params).abs().max()),
            }
            print(way, {key: value for key, value in found[way].items() if key != "seconds"})
        found["processes left"] = len(list(marked(Place(app).path)))
    print("processes left:", found["processes left"])
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
