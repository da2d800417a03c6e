"""Any reply that Flower can read counts or is refused, and never shows where it is refused."""

import json
import tracemalloc

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from hypothesis import given, settings
from hypothesis import strategies as st

from fedadp.errors import UpdateError
from fedadp.flower.schema import Entry
from fuzz.reply import ARRAYS, judge, reply

GOOD = ARRAYS["w"].data
dtypes = st.sampled_from(["float32", "float64", "int64", ">f4", "object", "", "f\n4"])
shapes = st.lists(st.integers(-3, 2**40), max_size=5).map(tuple) | st.just((2, 3))
bytes_of = st.binary(max_size=200) | st.binary(max_size=60).map(lambda tail: GOOD[:128] + tail)
arrays = st.builds(Array, dtypes, shapes, st.sampled_from(["numpy.ndarray", "pickle"]), bytes_of)
close = st.builds(
    lambda place, byte: Array(
        "float32", (2, 3), "numpy.ndarray", GOOD[:place] + bytes([byte]) + GOOD[place + 1 :]
    ),
    st.integers(0, len(GOOD) - 1),
    st.integers(0, 255),
)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats() | st.lists(st.floats(), max_size=3)
metrics = st.dictionaries(st.sampled_from(["num-examples", "loss", "x"]), numbers, max_size=3)
records = st.one_of(
    st.dictionaries(st.sampled_from(["w", "n", "W\n"]), arrays | close, max_size=3).map(
        ArrayRecord
    ),
    st.builds(lambda one: ArrayRecord({**ARRAYS, "w": one}), arrays | close),
    metrics.map(MetricRecord),
    st.just(ConfigRecord({"a": 1})),
)


@given(st.dictionaries(st.sampled_from(["arrays", "metrics", "more", "x\ty"]), records, max_size=3))
@settings(deadline=None, max_examples=300)
def test_any_records_count_or_are_refused(content):
    judge(RecordDict(content))


@given(close, metrics)
@settings(deadline=None, max_examples=300)
def test_one_other_byte_or_another_claim_in_an_honest_reply(array, said):
    held = ArrayRecord({**ARRAYS, "w": array})
    judge(RecordDict({"arrays": held, "metrics": MetricRecord({"num-examples": 600, **said})}))


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"w": "W"}', b'{"w": "W", "n": "N", "m": "N"}'])
def test_other_names_are_refused(body):
    try:
        content = reply(names=body)
    except (AttributeError, ValueError):  # Flower's own complaint
        assert body in (b"{}", b"[]", b'{"w": "W"}')
        return
    judge(content)


def test_a_head_that_promises_much_takes_no_memory():
    text = json.dumps({"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**6)})
    entry = Entry("w", "float32", (2, 3), learnt=True)
    head = b"\x93NUMPY\x01\x00\x76\x00" + text.encode().ljust(117) + b"\n"
    tracemalloc.start()
    with pytest.raises(UpdateError, match="not what its head says"):
        entry.read(Array("float32", (2, 3), "numpy.ndarray", head + bytes(24)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4), (2, 1, 3, 2)])
def test_whatever_numpy_writes_is_read_back(kind, shape):
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    for order in "CF":
        found = Entry("w", kind, shape, learnt=True).read(Array(np.asarray(values, order=order)))
        assert np.array_equal(found, values)
        assert found.dtype == values.dtype
