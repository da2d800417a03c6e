import contextlib
import gzip
import struct
import tracemalloc

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedadp.data.idx import read_idx
from fedadp.errors import DataError


def idx(values, shape):
    header = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
    return header + bytes(values)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.booleans())
@settings(deadline=None, max_examples=30)
def test_an_array_comes_back_as_it_was_written_plain_or_gzipped(shape, zipped):
    values = torch.arange(torch.Size(shape).numel(), dtype=torch.uint8)
    raw = idx(values.tolist(), shape)
    read = read_idx(gzip.compress(raw) if zipped else raw, "x")
    assert torch.equal(read, values.reshape(shape))


GOOD = idx(range(12), (3, 2, 2))
ZIPPED = gzip.compress(GOOD)


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "starts with nothing"),
        (b"\x89PNG....", "starts with 89504e47"),
        (b"\0\0\x0d\x01\0\0\0\x01....", "type 0x0d"),
        (b"\0\0\x08\x00", "claims 0 dimensions"),
        (b"\0\0\x08\xff" + bytes(2000), "claims 255 dimensions"),
        (GOOD[:9], "ends within its header"),
        (GOOD[:-1], "announces 28 bytes but there are 27"),
        (GOOD + b"\0", "announces 28 bytes but there are 29"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "more than"),
        (b"\0\0\x08\x01\xf0\0\0\0....", "but there are 12"),
        (ZIPPED[:-4], "ends in the middle"),
        (ZIPPED + b"more", "4 bytes follow"),
        (ZIPPED[:-6] + b"\0\0" + ZIPPED[-4:], "not readable as gzip"),
        (b"\x1f\x8bnot a gzip file", "not readable as gzip"),
        (gzip.compress(GOOD + bytes(50_000_000)), "more than the 28 bytes"),
        (gzip.compress(GOOD[:-1]), "announces 28 bytes but there are 27"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_file_is_refused_with_its_name(raw, complaint):
    with pytest.raises(DataError, match=f"^somewhere/file: .*{complaint}"):
        read_idx(raw, "somewhere/file")


def test_a_small_file_that_unfolds_into_a_large_one_takes_no_memory():
    bomb = gzip.compress(GOOD + bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(DataError):
        read_idx(bomb, "x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@given(st.binary(max_size=40) | st.binary(max_size=40).map(lambda tail: b"\0\0\x08" + tail))
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_read_or_refused(raw):
    with contextlib.suppress(DataError):
        assert read_idx(raw, "x").numel() <= 40
