"""Runs that are killed again and again, and must end as if nothing had happened.

`python -m tests.kills --kills 600 --seed 0` kills real processes with SIGKILL: at a chosen step of
what they write (before it, halfway through it, after it), or at any time; some lose what was not
synced, as in a power cut. Each run is gone on with until it ends, and its files are compared, bit
for bit, with those of a run that was never killed. Some are stopped by SIGINT, SIGTERM and SIGHUP
instead, and must say so in one sentence.
"""
