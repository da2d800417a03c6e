"""fedadp: the same over updates that lie on disk, larger than memory should hold."""

from __future__ import annotations

import os
from pathlib import Path

from updates import examples
from work import Answer, given_spec

from fedadp import Cohort, FedAdp


def forget(path: Path) -> None:
    """Out of the page cache, so that the disk is read."""
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def main() -> None:
    spec = given_spec()
    answer = Answer(spec)
    if not hasattr(Cohort, "of_files"):
        return answer.say({"missing": "fedadp.Cohort has no of_files"})
    files = sorted(Path(spec["inputs"]).glob("*.safetensors"))
    strategy = FedAdp()
    for _ in range(spec["rounds"]):
        for path in files:
            forget(path)
        answer.start()
        cohort = Cohort.of_files(range(len(files)), files, examples(len(files)))
        strategy.step(strategy.init(), cohort)
        answer.lap()
    return answer.end()


main()
