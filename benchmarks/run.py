"""Measure ours and its peers side by side. `python -m benchmarks.run --help`"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import agreement, environments, inputs, limits, machine
from benchmarks.launch import launch
from benchmarks.table import lines_of
from benchmarks.workloads import WORKLOADS, Entry, Workload

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    told = _arguments()
    chosen = [_as_told(one, told) for one in WORKLOADS if _wanted(one, told)]
    peers = {entry.contestant.environment for one in chosen for entry in _entries(one, told)}
    problems = {peer: environments.make(peer) for peer in sorted(peers)}
    out = told.out or RESULTS / f"{time.strftime('%Y-%m-%d-%H%M', time.gmtime())}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    record = _begun(out, told)
    versions = {peer: environments.versions(peer) for peer in peers}
    record["versions"] = dict(sorted({**record["versions"], **versions}.items()))
    record["limits"].append(limits.measure(quick=told.quick))
    for workload in chosen:
        before = record["workloads"].get(workload.name, {}).get("entries", {})
        found = measure(workload, _entries(workload, told), problems, before)
        record["workloads"][workload.name] = found
        order = [one.name for one in WORKLOADS if one.name in record["workloads"]]
        record["workloads"] = {name: record["workloads"][name] for name in order}
        if not told.quick or workload is chosen[-1]:
            record["limits"].append(limits.measure(quick=told.quick))
        out.write_text(json.dumps(record, indent=1) + "\n")
        print("\n".join(lines_of(workload.name, record)), flush=True)
    print(f"\nraw results: {out}\nthe table of all of them: python -m benchmarks.table")


def _begun(out: Path, told: argparse.Namespace) -> dict[str, Any]:
    """The raw results to go on with: those of an earlier part, or none yet."""
    kind = machine.kind()
    if not (told.add and out.exists()):
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        empty: dict[str, Any] = {"versions": {}, "limits": [], "workloads": {}}
        return {"when": when, "quick": told.quick, "machine": kind, **empty}
    record: dict[str, Any] = json.loads(out.read_text())
    if (record["machine"], record["quick"]) != (kind, told.quick):
        raise SystemExit(f"{out}: measured on another machine, or in another size; choose --out")
    return record


def measure(
    workload: Workload,
    entries: list[Entry],
    problems: dict[str, str],
    before: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Every entry in turn, and again, so that what disturbs the machine hits all alike."""
    known = {**{entry.label: _row(entry) for entry in entries}, **(before or {})}
    rows = {one.label: known[one.label] for one in workload.entries if one.label in known}
    found: dict[str, Any] = {
        "title": workload.title, "kind": workload.kind, "spec": workload.spec,
        "warmup": workload.warmup, "entries": rows,
    }  # fmt: skip
    if workload.kind == "train":
        found["flop"] = workload.flop()
    elif workload.kind in ("aggregate", "out-of-core"):
        found["bytes"] = workload.bytes()
    for repetition in range(workload.repetitions):
        for entry in entries:
            done = rows[entry.label]["repetitions"]
            if done and not done[-1].get("laps"):
                continue  # what did not run once does not run twice
            print(f"{workload.name} {repetition + 1}: {entry.label}", file=sys.stderr, flush=True)
            problem = problems[entry.contestant.environment]
            done.append({"failed": problem} if problem else _once(workload, entry))
    if workload.kind == "train":
        folder = inputs.prepare(workload.kind, workload.spec, workload.warmup + workload.rounds)
        found["loss_before"] = agreement.loss(workload.spec["model"], folder, folder / "params.npy")
        agreement.judge(rows, found["loss_before"])
    return found


def _once(workload: Workload, entry: Entry) -> dict[str, Any]:
    one, rounds = entry.contestant, workload.warmup + workload.rounds
    spec = {**workload.spec, **entry.changes}
    if workload.kind == "out-of-core" and (missing := _no_files()):
        return {"missing": missing}
    folder = inputs.prepare(workload.kind, spec, rounds)
    spec |= {"rounds": rounds, "variant": one.variant_for(spec["model"]), "inputs": str(folder)}
    quiet = machine.load()
    with tempfile.TemporaryDirectory() as place:
        final = Path(place, "final.npy")
        spec["final"] = str(final)
        python = environments.python(one.environment)
        found = launch(python, one.script, spec, workload.timeout)
        if final.exists() and folder and workload.kind == "train":
            found["loss"] = agreement.loss(spec["model"], folder, final)
    if workload.kind == "out-of-core" and folder:
        found["disk_gb_per_s"] = limits.disk(sorted(map(str, folder.glob("*.safetensors"))))
    return {**found, "load_before": quiet}


def _no_files() -> str:
    """The files take room: they are made only for somebody who can read them."""
    from fedadp import Cohort

    return "" if hasattr(Cohort, "of_files") else "fedadp.Cohort has no of_files yet"


def _row(entry: Entry) -> dict[str, Any]:
    one = entry.contestant
    return {"name": one.name, "role": one.role, "batches": one.batches, **entry.changes,
            "repetitions": []}  # fmt: skip


def _wanted(workload: Workload, told: argparse.Namespace) -> bool:
    if told.only:
        return workload.name in told.only
    return not told.quick or workload.small is not None


def _entries(workload: Workload, told: argparse.Namespace) -> list[Entry]:
    """Ours and the plain loops always, and the peers that were asked for; or some rows alone."""
    return [
        entry
        for entry in workload.entries
        if (
            entry.contestant.role != "peer"
            or told.peers is None
            or entry.contestant.environment in told.peers
        )
        and (told.rows is None or any(word in entry.label for word in told.rows))
    ]


def _as_told(workload: Workload, told: argparse.Namespace) -> Workload:
    if workload.kind == "out-of-core" and told.billion:
        workload = replace(workload, spec={**workload.spec, "size": 1_000_000_000})
    if told.quick:
        workload = workload.quick()
    if told.repetitions:
        workload = replace(workload, repetitions=told.repetitions)
    return workload


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    names = [one.name for one in WORKLOADS]
    parser.add_argument("--quick", action="store_true", help="less work, once: five minutes")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    peers = list(environments.RECIPES)
    parser.add_argument("--peers", nargs="*", choices=peers, metavar="NAME", help=", ".join(peers))
    parser.add_argument("--rows", nargs="+", metavar="WORD", help="only rows named so")
    parser.add_argument("--repetitions", type=int, help="instead of the workload's own number")
    parser.add_argument("--billion", action="store_true", help="out-of-core with 40 GB of files")
    parser.add_argument("--out", type=Path, help="where the raw results go")
    parser.add_argument(
        "--add", action="store_true", help="to what is in --out: a table can be measured in parts"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
