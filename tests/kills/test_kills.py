"""A short version of `python -m tests.kills`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_runs_that_were_killed_end_with_the_same_bits():
    words = [sys.executable, "-m", "tests.kills", "--kills", "16", "--sweeps", "1", "--seed", "3"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; 0 differ;" in done.stdout
