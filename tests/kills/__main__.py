"""Kill as many as asked, and say what came of it."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

from . import children
from .cases import cases
from .trials import Trials

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


def main():
    words = argparse.ArgumentParser(prog="python -m tests.kills")
    words.add_argument("--kills", type=int, default=600)
    words.add_argument("--sweeps", type=int, default=40, help="stopped by a signal each")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--keep", action="store_true", help="keep the runs, to look at them")
    told = words.parse_args()
    home, begin = Path(tempfile.mkdtemp(prefix="fedadp-kills-")), time.monotonic()
    children.warm_up()
    trials = Trials(home, told.seed)
    every = list(cases())
    trials.draw.shuffle(every)
    for experiment in cycle(every):
        if trials.tally.kills.total() >= told.kills:
            break
        trials.kill(experiment)
    for _, number in zip(range(told.sweeps), cycle(SIGNALS), strict=False):
        trials.stop(number)
    tally = trials.tally
    kinds = ", ".join(f"{count} by {kind}" for kind, count in sorted(tally.kills.items()))
    print(  # noqa: T201
        f"seed {told.seed}: {tally.kills.total()} processes ended ({kinds}); {tally.runs} runs "
        f"gone on with and compared, {tally.bytes:,} bytes; {len(tally.differences)} differ; "
        f"{time.monotonic() - begin:.0f} s"
    )
    for line in tally.differences:
        print(line)  # noqa: T201
    if not told.keep and not tally.differences:
        shutil.rmtree(home)
    sys.exit(bool(tally.differences))


if __name__ == "__main__":
    main()
