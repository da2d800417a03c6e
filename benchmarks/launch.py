"""One contestant's run: started, watched for its memory, and ended with all it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.append(str(HERE / "shared"))
from work import family  # noqa: E402  contestants use it too, in environments without this package

MARKER = "FEDADP_BENCH_RUN"
INTERVAL = 0.25  # seconds between two looks at memory
MOST = 0.7  # of the machine's memory: whoever takes more is ended, before others are
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TQDM_DISABLE": "1",
}


def launch(python: Path, script: str, spec: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Rounds, peak memory in MB over all processes, and what went wrong, if anything."""
    marker = uuid.uuid4().hex
    environment = {**os.environ, **QUIET, MARKER: marker, "PYTHONPATH": str(HERE / "shared")}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as log:
        text = json.dumps({**spec, "begin": time.time()})
        output = Path(folder, "answer")
        with output.open("w") as answer:
            process = subprocess.Popen(
                [python, "-P", HERE / "peers" / f"{script}.py", text],
                env=environment, cwd=folder, stdout=answer, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        try:
            peaks, ended = _watch(process, marker, timeout)
        finally:
            _end(process, marker)
        answers = [json.loads(line) for line in output.read_text().splitlines()]
        log.seek(0)
        return {**_sorted(answers, ended, process.returncode, log.read()), **peaks}


def _watch(
    process: subprocess.Popen[bytes], marker: str, timeout: float
) -> tuple[dict[str, float], str]:
    """The peaks in MB, and why it had to be ended before its time, if it had to."""
    peak = anonymous = 0.0
    most = MOST * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    end, reason = time.monotonic() + timeout, ""
    while process.poll() is None and not reason:
        held = [_memory(pid) for pid in family(marker)]
        peak = max(peak, sum(one[0] for one in held))
        anonymous = max(anonymous, sum(one[1] for one in held))
        if anonymous > most:
            reason = f"ended when it held {anonymous:,.0f} MB"
        elif time.monotonic() > end:
            reason = f"ended after {timeout:,.0f} seconds"
        time.sleep(INTERVAL)
    return {"peak_mb": peak, "anonymous_mb": anonymous}, reason


def _memory(pid: int) -> tuple[float, float]:
    """A process's share of memory in MB, and what of it no file holds; RSS where PSS is missing."""
    try:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        except FileNotFoundError:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    table = {line.split(":")[0]: line.split()[1] for line in lines if line.endswith(" kB")}
    whole = float(table.get("Pss", table.get("VmRSS", 0)))
    own = float(table.get("Pss_Anon", table.get("RssAnon", 0)))
    return whole / 1024, (own + float(table.get("Pss_Shmem", 0))) / 1024


def _end(process: subprocess.Popen[bytes], marker: str) -> None:
    """Nothing that this run started stays behind."""
    for sign, wait in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
        end = time.monotonic() + wait
        for pid in family(marker):
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                continue
        while family(marker) and time.monotonic() < end:
            process.poll()
            time.sleep(0.05)
    process.wait()


def _sorted(answers: list[dict[str, Any]], ended: str, status: int, log: str) -> dict[str, Any]:
    """What a contestant said, by what it is; and where it did not finish, its last words."""
    checks = {key: v for line in answers for key, v in line.items() if key.startswith("error_of")}
    found: dict[str, Any] = {"laps": [line for line in answers if "seconds" in line], **checks}
    for line in answers:
        if "missing" in line:
            found["missing"] = line["missing"]
    if "missing" not in found and not any("end" in line for line in answers):
        last = ([line for line in log.splitlines() if line.strip()] or ["no word"])[-1]
        found["failed"] = ended or f"exit status {status}: {last.strip()[:300]}"
        sys.stderr.write(log[-3000:])
    return found
