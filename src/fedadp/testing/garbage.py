"""What a node may send instead of an update; none of it may ever count."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict

Make = Callable[[RecordDict], RecordDict]
Values = np.ndarray[Any, Any]
unpickled: list[str] = []  # stays empty, unless somebody loads what a stranger pickled


class Trap:
    """An object that leaves a mark where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return sprung, ("a reply was unpickled",)


def sprung(mark: str) -> None:
    """By its name in this module, for a pickle would bring a list of its own."""
    unpickled.append(mark)


def _values(change: Callable[[Values], Values]) -> Make:
    """Other numbers in the first array."""

    def make(content: RecordDict) -> RecordDict:
        return _first(content, lambda array: Array(change(array.numpy().copy())))

    return make


def _bytes(change: Callable[[Array], bytes]) -> Make:
    """Other bytes under the first array's own type and shape."""

    def make(content: RecordDict) -> RecordDict:
        return _first(content, lambda a: Array(a.dtype, tuple(a.shape), a.stype, change(a)))

    return make


def _first(content: RecordDict, change: Callable[[Array], Array]) -> RecordDict:
    ((key, arrays),) = content.array_records.items()
    name = next(name for name in arrays if arrays[name].numpy().size)
    return _with(content, key, ArrayRecord({**arrays, name: change(arrays[name])}))


def _with(content: RecordDict, key: str, record: Any) -> RecordDict:
    return RecordDict({**{name: content[name] for name in content}, key: record})


def _without(kind: type) -> Make:
    def make(content: RecordDict) -> RecordDict:
        return RecordDict({k: r for k, r in content.items() if not isinstance(r, kind)})

    return make


def _claims(examples: Any) -> Make:
    """Another number of examples."""

    def make(content: RecordDict) -> RecordDict:
        ((key, metrics),) = content.metric_records.items()
        return _with(content, key, MetricRecord({**metrics, "num-examples": examples}))

    return make


def _more(content: RecordDict) -> RecordDict:
    ((key, arrays),) = content.array_records.items()
    return _with(content, key, ArrayRecord({**arrays, "more": Array(np.ones(3, np.float32))}))


def _fill(value: float) -> Callable[[Values], Values]:
    def change(values: Values) -> Values:
        values.reshape(-1)[-1] = value
        return values

    return change


def _lying(array: Array) -> bytes:
    """A head that promises a trillion numbers, and as many bytes as are due."""
    out = io.BytesIO()
    head = {"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(out, head)
    return out.getvalue() + array.data[-array.numpy().nbytes :]


def _pickled(array: Array) -> bytes:
    """An array of objects, which NumPy would unpickle if it were allowed to."""
    out = io.BytesIO()
    np.save(out, np.array([Trap()], dtype=object), allow_pickle=True)
    return out.getvalue().ljust(len(array.data), b"\0")


GARBAGE: Mapping[str, Make] = {
    "NaN": _values(_fill(np.nan)),
    "infinite": _values(_fill(-np.inf)),
    "another shape": _values(lambda values: np.stack([values, values])),
    "one number": _values(lambda values: values.reshape(-1)[:1]),
    "another type": _values(lambda values: values.astype(np.float64)),
    "no arrays": _without(ArrayRecord),
    "no metrics": _without(MetricRecord),
    "nothing": lambda _: RecordDict(),
    "a head that lies": _bytes(_lying),
    "bytes cut off": _bytes(lambda array: array.data[: len(array.data) // 2]),
    "no bytes": _bytes(lambda _: b""),
    "pickled objects": _bytes(_pickled),
    "an array too many": _more,
    "examples below 0": _claims(-600),
    "examples without end": _claims(2**62),
    "examples not a number": _claims(float("nan")),
}
