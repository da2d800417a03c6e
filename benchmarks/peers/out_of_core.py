"""fedadp: the same over updates that lie on disk, larger than memory should hold."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from updates import errors, examples
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
        step = strategy.step(strategy.init(), cohort)
        answer.lap()
    found = (cohort.geometry().cosines.numpy(), step.notes["weight"].numpy(), step.delta.numpy())

    def piece(start: int, stop: int) -> np.ndarray:
        """Read without mapping the files, so that memory stays what the work needed."""
        heads = (path.stat().st_size - 4 * spec["size"] for path in files)  # the numbers come last
        pairs, count = list(zip(files, heads, strict=True)), stop - start
        return np.stack(
            [np.fromfile(path, np.float32, count, offset=at + 4 * start) for path, at in pairs]
        )

    answer.say(errors(piece, spec["size"], examples(len(files)), *found))
    return answer.end()


main()
