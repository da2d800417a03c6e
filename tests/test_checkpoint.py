import pytest
import torch

from fedadp import FedAdp
from fedadp.atomic import write_atomically
from fedadp.checkpoint import load_round, save_round
from fedadp.errors import RunError
from fedadp.loop import Round


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    save_round(path, Round(3, torch.ones(2)), "digest")
    assert load_round(path, None, "digest").number == 3
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"fedadp checkpoint 1", b"fedadp checkpoint 7"))
    with pytest.raises(RunError, match="'fedadp checkpoint 7'"):
        load_round(path, None, "digest")


def test_any_flipped_bit_of_a_checkpoint_is_noticed(tmp_path):
    path = tmp_path / "c.safetensors"
    save_round(path, Round(3, torch.randn(200), state=FedAdp().init()), "digest")
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(RunError):
            load_round(path, FedAdp().init(), "digest")
    path.write_bytes(whole)
    with pytest.raises(RunError, match="another experiment"):
        load_round(path, FedAdp().init(), "other")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"


def test_a_pickle_is_refused_unread(tmp_path):
    path = tmp_path / "c.safetensors"
    path.write_bytes(b"\x80\x04pickled")
    with pytest.raises(RunError, match="not a usable checkpoint"):
        load_round(path, None, "digest")


def test_whoever_reads_a_file_that_is_replaced_goes_on_with_the_old_one(tmp_path):
    path, linked = tmp_path / "file", tmp_path / "linked"
    write_atomically(path, b"old and longer")
    linked.hardlink_to(path)
    with path.open("rb") as reader:
        write_atomically(path, b"new")
        assert reader.read() == linked.read_bytes() == b"old and longer"
    assert path.read_bytes() == b"new"
