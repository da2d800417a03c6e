"""Ask whether anything that we pin has a known vulnerability: `python -m security.audit`.

pip-audit lives in an environment of its own. Where its data cannot be reached, that is said loudly,
and nothing fails: pip-audit alone would report success.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "audit"
TOOL = HOME / "bin" / "pip-audit"
SECONDS_TO_INSTALL, SECONDS_TO_AUDIT = 180, 120


def main() -> None:
    try:
        found = _audited()
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        _skipped(" ".join(str(error).split())[:300])
        return
    known = [entry for entry in found if "skip_reason" not in entry]
    if not known:
        _skipped("its data cannot be reached")
        return
    bad = [entry for entry in known if entry["vulns"]]
    for entry in bad:
        for hole in entry["vulns"]:
            fixed = ", ".join(hole["fix_versions"]) or "no version yet"
            print(f"{entry['name']} {entry['version']}: {hole['id']}, mended in {fixed}")
    print(f"audited {len(known)} of {len(found)} pinned packages: {len(bad)} are vulnerable")
    if len(known) < len(found):
        _skipped(", ".join(entry["name"] for entry in found if entry not in known))
    sys.exit(1 if bad else 0)


def _audited() -> list[dict[str, Any]]:
    if not TOOL.exists():
        venv.create(HOME, with_pip=True, clear=True)
        _run([str(HOME / "bin" / "pip"), "install", "--quiet", "pip-audit"], SECONDS_TO_INSTALL)
    words = [str(TOOL), "--requirement", str(ROOT / "constraints.txt"), "--no-deps"]
    said = _run([*words, "--disable-pip", "--format", "json", "--timeout", "5"], SECONDS_TO_AUDIT)
    entries: list[dict[str, Any]] = json.loads(said)["dependencies"]
    return entries


def _run(words: list[str], seconds: int) -> str:
    ended = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    if ended.returncode not in (0, 1):  # 1: something is vulnerable
        raise ValueError(ended.stderr or f"{words[0]} ended with {ended.returncode}")
    return ended.stdout


def _skipped(why: str) -> None:
    line = "!" * 78
    print(f"{line}\nNOT AUDITED for known vulnerabilities: {why}\n{line}", file=sys.stderr)


if __name__ == "__main__":
    main()
