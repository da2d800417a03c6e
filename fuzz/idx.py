"""The IDX reader: any bytes are an array of the size they announce, or a DataError."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator

from fedadp.data.idx import read_idx
from fedadp.errors import DataError
from fuzz.sentences import one_sentence

WORDS = (b"\x00\x00\x08\x01", b"\x00\x00\x08\x03", b"\x1f\x8b\x08", b"\x00\x00\x00\x02")


def check(data: bytes) -> None:
    try:
        values = read_idx(data, "file")
    except DataError as error:
        one_sentence(error)
        return
    assert values.numel() <= 1100 * len(data)  # gzip folds a thousand bytes into one at the most


def seeds() -> Iterator[bytes]:
    for shape in ((3,), (2, 2), (3, 2, 2), (1, 2, 1, 2), (0,)):
        size = 1
        for side in shape:
            size *= side
        plain = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + bytes(range(size))
        yield plain
        yield gzip.compress(plain, mtime=0)
