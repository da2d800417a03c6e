"""Each peer in a virtual environment of its own, made once from PyPI."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

TORCH = "torch==2.13.0"
# each peer: the packages whose versions are reported, then what pip is asked for, call by call
RECIPES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    "flower": (("flwr", "ray", "torch"), ((TORCH, "flwr[simulation]==1.41.0"),)),
    "blazefl": (
        ("blazefl", "torch"),
        # it declares Python 3.12 for its last release before 3.14, but runs on 3.11
        ((TORCH, "numpy", "tqdm"), ("--no-deps", "--ignore-requires-python", "blazefl==2.0.3")),
    ),
    "pfl": (("pfl", "torch"), ((TORCH, "pfl[pytorch]==0.6.0"),)),
    "fedlab": (
        ("fedlab", "torch"),
        ((TORCH, "pillow"), ("--no-deps", "torchvision==0.28.0"), (TORCH, "fedlab==1.3.0")),
    ),
    "fedjax": (
        ("fedjax", "jax", "jaxlib"),
        (
            ("fedjax==0.0.17", "jax==0.4.25", "jaxlib==0.4.25", "numpy<2", "scipy<1.13",
             "optax<0.2.3", "chex<0.1.87", "dm-haiku<0.0.13", "setuptools<81"),
        ),
    ),
}  # fmt: skip
OURS = ("torch", "numpy")


def home() -> Path:
    """Where environments and inputs are kept: FEDADP_BENCH, or a folder in the user's cache."""
    chosen = os.environ.get("FEDADP_BENCH")
    return Path(chosen).expanduser() if chosen else Path("~/.cache/fedadp/benchmarks").expanduser()


def python(peer: str) -> Path:
    """A peer's interpreter; for ours and the plain loops, the one that runs this."""
    return home() / peer / "bin" / "python" if peer in RECIPES else Path(sys.executable)


def make(peer: str) -> str:
    """Make a peer's environment unless it is there; why not, or nothing."""
    if peer not in RECIPES:
        return ""
    folder = home() / peer
    stamp, recipe = folder / "recipe", hashlib.sha256(repr(RECIPES[peer]).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == recipe:
        return ""
    print(f"making the environment of {peer}", file=sys.stderr)
    problem = _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    (folder / "constraints.txt").write_text(f"{TORCH}\n")  # else pip may choose a build for CUDA
    pip = [str(python(peer)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for words in RECIPES[peer][1]:
        problem = problem or _run([*pip, "-c", str(folder / "constraints.txt"), *words])
    if not problem:
        stamp.write_text(recipe)
    return problem and f"does not install: {problem}"


def versions(peer: str) -> dict[str, str]:
    """The versions of Python and of what counts."""
    names = RECIPES[peer][0] if peer in RECIPES else OURS
    code = (
        "import json, sys, importlib.metadata as m\n"
        "found = {name: m.version(name) for name in sys.argv[1:]}\n"
        "print(json.dumps({'python': sys.version.split()[0], **found}))"
    )
    done = subprocess.run(
        [python(peer), "-c", code, *names], capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else {}


def _run(command: list[str]) -> str:
    """The last error a command printed, if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (lines or done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1][:300]
