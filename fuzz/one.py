"""Fuzz one reader in this process: `python -m fuzz.one TARGET` and libFuzzer's own words."""

from __future__ import annotations

import logging
import sys

import atheris

COMPILED = ["fedadp.kernels", "fedadp.compiled"]  # numba takes no calls of atheris

with atheris.instrument_imports(
    include=["fedadp", "fuzz", "tomllib", "numpy.lib"], exclude=COMPILED
):
    from fuzz.targets import target

    chosen = target(sys.argv.pop(1))

if __name__ == "__main__":
    logging.getLogger("fedadp").setLevel(logging.ERROR)  # each refusal is a line
    atheris.Setup(sys.argv, chosen.check)
    atheris.Fuzz()
