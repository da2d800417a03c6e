import gzip
import hashlib
import io
import logging
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedadp.data.fetch import cached, data_folder, fetch
from fedadp.data.mirrors import DebianPackage, NpmPackage, Web, members
from fedadp.data.recipes import RECIPES, Recipe
from fedadp.errors import DataError

CONTENT = {"pears": b"pears " * 1000, "plums": b"plums " * 10}


def recipe(*mirrors):
    sizes = {name: len(content) for name, content in CONTENT.items()}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    return {"fruit": Recipe(sizes, sums, mirrors)}


def web(folder, **content):
    folder.mkdir(exist_ok=True)
    for name, plain in {**CONTENT, **content}.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(plain))
    return Web(f"{folder.as_uri()}/")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDADP_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_files_are_fetched_once(tmp_path, cache):
    told = []
    recipes = recipe(web(tmp_path / "web"))
    assert not cached("fruit", recipes)
    folder = fetch("fruit", told.append, recipes)
    assert folder == cache / "fruit"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT
    assert cached("fruit", recipes)
    shutil.rmtree(tmp_path / "web")
    assert fetch("fruit", told.append, recipes) == folder
    assert len(told) == 1
    assert told[0].startswith("fruit: asking file://")


def test_mirrors_are_asked_in_turn_and_only_for_what_is_missing(tmp_path):
    first = web(tmp_path / "first", plums=b"stones" * 10)
    second = web(tmp_path / "second")
    (tmp_path / "second" / "pears.gz").unlink()
    told = []
    assert fetch("fruit", told.append, recipe(Web("file:///nowhere/"), first, second))
    assert len(told) == 3


def test_a_flipped_byte_in_the_cache_is_noticed_and_mended(tmp_path, caplog):
    recipes = recipe(web(tmp_path / "web"))
    path = fetch("fruit", recipes=recipes) / "pears"
    damaged = bytearray(path.read_bytes())
    damaged[77] ^= 1
    path.write_bytes(damaged)
    assert not cached("fruit", recipes)
    with caplog.at_level(logging.WARNING, "fedadp"):
        fetch("fruit", recipes=recipes)
    assert path.read_bytes() == CONTENT["pears"]
    assert "pears is damaged and is fetched again" in caplog.text


def test_when_all_fails_the_error_tells_what_was_tried_and_what_to_do(tmp_path, cache):
    liar = web(tmp_path / "liar", pears=b"x" * 6000)
    bomb = web(tmp_path / "bomb", pears=bytes(10_000_000))
    torn = web(tmp_path / "torn")
    (tmp_path / "torn" / "pears.gz").write_bytes(gzip.compress(CONTENT["pears"])[:-9])
    with pytest.raises(DataError) as caught:
        fetch("fruit", recipes=recipe(Web("file:///nowhere/"), liar, bomb, torn))
    said = str(caught.value)
    assert said.startswith("fruit: 2 of 2 files could not be had from file:///nowhere/ (")
    assert f"{liar} (pears has another checksum)" in said
    assert f"{bomb} (pears.gz is larger than it should be)" in said
    assert "torn/ (pears: ends in the middle of its gzip stream" in said
    assert f"put pears, plums in {cache / 'fruit'}" in said
    assert not list((cache / "fruit").iterdir())


def test_a_small_file_cannot_unfold_into_a_large_one(tmp_path):
    bomb = web(tmp_path / "bomb", plums=bytes(100_000))
    with pytest.raises(DataError, match="plums: holds more than the 60 bytes"):
        fetch("fruit", recipes=recipe(bomb))


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(DataError, match="did you mean 'mnist'"):
        fetch("mnits")


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FEDADP_DATA", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"file/fruit: cannot be written .* set FEDADP_DATA"):
        fetch("fruit", recipes=recipe(web(tmp_path / "web")))


def test_without_a_choice_the_cache_is_the_users(monkeypatch):
    monkeypatch.delenv("FEDADP_DATA")
    assert data_folder().parts[-2:] == ("fedadp", "data")


@dataclass(frozen=True)
class Slow:
    """A mirror that leaves time for another process to come along."""

    web: Web

    def files(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        time.sleep(1.5)
        yield from self.web.files(sizes)


FETCHER = """
import sys
sys.path.insert(0, sys.argv[1])
import test_fetch as here
here.fetch("fruit", print, here.recipe(here.Slow(here.Web(sys.argv[2]))))
"""


def test_two_processes_at_once_fetch_once(tmp_path, cache):
    words = [sys.executable, "-c", FETCHER, str(Path(__file__).parent)]
    words.append(web(tmp_path / "web").base)
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in "ab"]
    told = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(line.count("asking") for line in told) == [0, 1]
    assert {path.name: path.read_bytes() for path in (cache / "fruit").iterdir()} == CONTENT


@dataclass(frozen=True)
class Archive:
    """A mirror that is a tar file."""

    path: Path

    def files(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        yield from members(self.path, "package/data", sizes)


def archive(path, content_of):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in content_of:
            member = tarfile.TarInfo(name)
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                member.size = len(content)
            tar.addfile(member, None if content is None else io.BytesIO(content))
    return Archive(path)


def test_only_the_files_that_were_asked_for_come_out_of_an_archive(tmp_path):
    content = [
        ("package/data/pears", CONTENT["pears"]),
        ("./package/data/plums.gz", gzip.compress(CONTENT["plums"])),
        ("package/data/../../../escaped", b"no"),
        ("package/other/pears", b"no"),
    ]
    folder = fetch("fruit", recipes=recipe(archive(tmp_path / "a.tgz", content)))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ([("package/data/pears", None)], "not all files are there"),
        ([("package/data/pears", bytes(20_000))], "pears is larger than it should be"),
        ([], "not all files are there"),
    ],
)
def test_an_archive_that_has_not_the_files_is_a_reason(tmp_path, content, complaint):
    with pytest.raises(DataError, match=complaint):
        fetch("fruit", recipes=recipe(archive(tmp_path / "a.tgz", content)))


def test_a_package_client_that_is_not_installed_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    mirrors = NpmPackage("fruit@1", "data"), DebianPackage("fruit", "no/such/folder")
    with pytest.raises(DataError, match=r"npm is not installed.*apt-get is not installed"):
        fetch("fruit", recipes=recipe(*mirrors))


def test_an_installed_debian_package_is_used_as_it_is(tmp_path):
    web(tmp_path / "share")
    package = DebianPackage("fruit", str(tmp_path / "share").lstrip("/"))
    assert fetch("fruit", recipes=recipe(package))


def test_a_client_that_fails_says_why(tmp_path, monkeypatch):
    (tmp_path / "npm").write_text("#!/bin/sh\necho npm ERR! code E404 >&2\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(DataError, match=r"npm package fruit@1 \(npm failed: code E404\)"):
        fetch("fruit", recipes=recipe(NpmPackage("fruit@1", "data")))


def test_the_known_data_sets_have_a_size_and_a_checksum_for_every_file():
    for known in RECIPES.values():
        assert known.sizes.keys() == known.sha256.keys()
        assert {len(digest) for digest in known.sha256.values()} == {64}
