"""Break a federation, and see that nothing is lost: `python -m chaos --seed 7`.

Layer A is one process with twenty nodes in it, thousands of rounds and crashes; layer B is a whole
deployment with TLS whose processes are killed and frozen. The same seed does the same again.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from chaos.layer_a import layer_a
from chaos.ledger import BrokenError

OUT = Path("build/chaos.json")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended, too
    told = _arguments()
    replay = (
        f"python -m chaos --seed {told.seed} --layer {told.layer} --rounds {told.rounds} "
        f"--crash-every {told.crash_every}"
    )
    print(f"seed {told.seed}; once more with: {replay}", flush=True)
    figures: dict[str, Any] = {"seed": told.seed, "replay": replay}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fedadp-chaos-", dir=told.work) as work:
        try:
            if told.layer in ("a", "both"):
                found = layer_a(told.seed, told.rounds, told.crash_every, Path(work), _say)
                figures["layer A"] = found
                _say(f"layer A held: {json.dumps(found)}")
            if told.layer in ("b", "both"):
                from chaos.layer_b import layer_b

                figures["layer B"] = layer_b(told.seed, Path(work), _say)
        except BrokenError as error:
            print(f"BROKEN: {error}\nonce more with: {replay}", file=sys.stderr)
            sys.exit(1)
    figures["seconds"] = round(time.monotonic() - begin, 1)
    text = json.dumps(figures, indent=1)
    told.out.parent.mkdir(parents=True, exist_ok=True)
    told.out.write_text(text + "\n")
    print(f"{text}\nall invariants held; figures in {told.out}")


def _say(line: str) -> None:
    print(line, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--layer", choices=["a", "b", "both"], default="both")
    parser.add_argument("--rounds", type=int, default=2000, help="of layer A")
    parser.add_argument("--crash-every", type=int, default=200, help="rounds of layer A")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--work", type=Path, help="where to work, if not in /tmp")
    return parser.parse_args()


if __name__ == "__main__":
    main()
