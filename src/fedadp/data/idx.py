"""The file format of MNIST and its relatives, read as if a stranger had written the file."""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np
import torch
from torch import Tensor

from fedadp.errors import DataError

GZIP = b"\x1f\x8b"
UINT8 = 0x08
MOST_DIMENSIONS = 4
MOST_BYTES = 1 << 32


def read_idx(raw: bytes, name: str) -> Tensor:
    """The uint8 array in an IDX file, plain or gzipped; `name` is what errors call it.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]), "labels").tolist()
    [7, 8, 9]
    """
    zipped = raw.startswith(GZIP)
    shape = _shape(_inflate(raw, name, 64)[0] if zipped else raw[:64], name)
    header = 4 + 4 * len(shape)
    size = header + math.prod(shape)
    if math.prod(max(side, 1) for side in shape) > MOST_BYTES:  # NumPy multiplies past a 0, too
        sides = " x ".join(f"{side:,}" for side in shape)
        raise DataError(
            f"{name}: its header announces {sides} bytes, more than the {MOST_BYTES:,} that are "
            "read; it is damaged, or must be cut up"
        )
    if zipped:
        raw = gunzip(raw, name, size)
    if len(raw) != size:
        raise DataError(
            f"{name}: its header announces {size:,} bytes but there are {len(raw):,}; "
            "fetch the file again"
        )
    values = np.frombuffer(raw, dtype=np.uint8, offset=header)
    return torch.from_numpy(values.reshape(shape).copy())


def gunzip(raw: bytes, name: str, most: int) -> bytes:
    """What a gzip file holds, which may be `most` bytes: no small file fills the memory."""
    plain, stream = _inflate(raw, name, most + 1)
    if len(plain) > most:
        raise DataError(f"{name}: holds more than the {most:,} bytes it should; fetch it again")
    if not stream.eof:
        raise DataError(f"{name}: ends in the middle of its gzip stream; fetch the file again")
    if stream.unused_data:
        raise DataError(
            f"{name}: {len(stream.unused_data):,} bytes follow its gzip stream; fetch it again"
        )
    return plain


def _inflate(raw: bytes, name: str, most: int) -> tuple[bytes, zlib._Decompress]:
    stream = zlib.decompressobj(wbits=31)
    try:
        return stream.decompress(raw, most), stream
    except zlib.error as error:
        raise DataError(f"{name}: not readable as gzip ({error}); fetch the file again") from error


def _shape(header: bytes, name: str) -> tuple[int, ...]:
    if len(header) < 4 or header[:2] != b"\0\0":
        raise DataError(
            f"{name}: starts with {header[:4].hex() or 'nothing'}, which is not the start of an "
            "IDX file; give the file itself or its .gz"
        )
    kind, dimensions = header[2], header[3]
    if kind != UINT8:
        raise DataError(
            f"{name}: holds values of type 0x{kind:02x}; only unsigned bytes, 0x08, are read"
        )
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise DataError(
            f"{name}: claims {dimensions} dimensions; from 1 to {MOST_DIMENSIONS} are read"
        )
    if len(header) < 4 + 4 * dimensions:
        raise DataError(f"{name}: ends within its header; fetch the file again")
    return struct.unpack_from(f">{dimensions}I", header, 4)
