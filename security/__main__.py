"""Measure, and write the tables of docs/security.md: `python -m security`, some minutes."""

from __future__ import annotations

import argparse
import json

from security.page import PAGE, RESULTS, written


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m security", description=__doc__)
    parser.add_argument("--page-only", action="store_true", help="from the figures that are there")
    if not parser.parse_args().page_only:
        from security.leaks import leaks
        from security.measure import ROUNDS, SEEDS, attacks

        found = {"rounds": ROUNDS, "seeds": SEEDS, "attacks": attacks(print), "leaks": leaks()}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(written(PAGE.read_text(), json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
