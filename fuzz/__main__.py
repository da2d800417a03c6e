"""Fuzz the readers, one after the other: `python -m fuzz [TARGET ...] --seconds 600`.

Inputs that led somewhere new are kept in build/fuzz, so that the next time begins there. An input
that breaks a promise ends its fuzzer, is kept in fuzz/findings, and is a test from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fuzz.targets import FINDINGS, TARGETS, Target, target

HERE = Path(__file__).parent
WORK = HERE.parent / "build" / "fuzz"
RESULTS = HERE / "results.json"
MEMORY_MB = 2048
SECONDS_PER_INPUT = 10
LARGEST_INPUT = 4096
FINAL = re.compile(r"stat::(\w+):\s+(\d+)")


def main() -> None:
    told = _arguments()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found = 0
    for name in told.targets or TARGETS:
        print(f"{name}: {told.seconds} s", flush=True)
        results[name] = fuzz(target(name), told.seconds, told.seed)
        found += len(results[name]["findings"])
        print(f"{name}: {json.dumps(results[name])}", flush=True)
        if told.keep:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(1 if found else 0)


def fuzz(one: Target, seconds: int, seed: int) -> dict[str, Any]:
    """Until the time is up; what was executed, and what was found."""
    corpus, words = _prepared(one)
    totals = {"executions": 0, "coverage": 0, "peak_rss_mb": 0}
    findings: list[str] = []
    begin = time.monotonic()
    (FINDINGS / one.name).mkdir(parents=True, exist_ok=True)
    while (left := int(seconds - (time.monotonic() - begin))) > 0 and len(findings) < 5:
        ended = subprocess.run(
            [
                sys.executable, "-m", "fuzz.one", one.name, str(corpus), f"-dict={words}",
                f"-max_total_time={left}", f"-seed={seed + len(findings)}",
                f"-max_len={LARGEST_INPUT}", f"-timeout={SECONDS_PER_INPUT}",
                f"-rss_limit_mb={MEMORY_MB}", f"-artifact_prefix={FINDINGS / one.name}/",
                "-print_final_stats=1",
            ],
            cwd=HERE.parent, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        said = ended.stderr + ended.stdout
        (WORK / f"{one.name}.log").write_text(said)
        stats = {key: int(value) for key, value in FINAL.findall(said)}
        totals["executions"] += stats.get("number_of_executed_units", 0)
        totals["peak_rss_mb"] = max(totals["peak_rss_mb"], stats.get("peak_rss_mb", 0))
        covered = re.findall(r"cov: (\d+)", said)
        totals["coverage"] = max(totals["coverage"], int(covered[-1]) if covered else 0)
        if ended.returncode:
            findings.append(_finding(said))
    return {**totals, "seconds": round(time.monotonic() - begin), "findings": findings}


def _prepared(one: Target) -> tuple[Path, Path]:
    """What to begin with: seeds, what was found before, and words."""
    corpus = WORK / one.name
    corpus.mkdir(parents=True, exist_ok=True)
    for data in [*one.seeds(), *(path.read_bytes() for path in one.findings)]:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    words = WORK / f"{one.name}.dict"
    entries = ("".join(f"\\x{byte:02x}" for byte in word) for word in one.words)
    words.write_text("".join(f'"{entry}"\n' for entry in entries))
    return corpus, words


def _finding(said: str) -> str:
    """What went wrong, and in which file the input is."""
    raised = re.search(r"Uncaught Python exception: ===\n(.*)", said)
    stopped = re.search(r"ERROR: libFuzzer: (.*)", said)
    file = re.search(r"Test unit written to (\S+)", said)
    what = (raised or stopped).group(1) if raised or stopped else said[-300:]
    return f"{what} ({Path(file.group(1)).name if file else 'no input'})"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="note the figures in fuzz/results.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
