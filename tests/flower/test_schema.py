"""What a node sends is checked before it is decoded."""

import io

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fedadp import FedadpError
from fedadp.errors import SettingError, UpdateError
from fedadp.flower.schema import Schema
from fedadp.testing.toys import toy_model

GOOD = np.arange(6, dtype=np.float32).reshape(2, 3)


def schema():
    return Schema.of_arrays({"w": Array(GOOD), "n": Array(np.array(3))})


def read(**arrays):
    row = torch.empty(6)
    return row, schema().read({"w": Array(GOOD), "n": Array(np.array(3)), **arrays}, row)


def test_a_module_goes_to_arrays_and_back_bit_for_bit():
    module = toy_model()
    found = Schema.of_module(module)
    arrays = ArrayRecord(module.state_dict())
    params, statistics = found.flatten({entry.name: arrays[entry.name] for entry in found.entries})
    again = found.record(params, statistics)
    for name, values in module.state_dict().items():
        assert np.array_equal(again[name].numpy(), values.numpy())
        assert again[name].numpy().dtype == values.numpy().dtype


def test_batchnorm_and_whole_numbers_have_no_angle():
    arrays = ArrayRecord(toy_model().state_dict())
    found = Schema.of_arrays(arrays)
    names = {entry.name for entry in found.statistics}
    assert names == {"1.running_mean", "1.running_var", "1.num_batches_tracked"}
    assert found.size == sum(p.numel() for p in toy_model().parameters())


def test_an_update_is_what_was_reached_less_where_it_began():
    row = torch.empty(6)
    schema().read({"w": Array(GOOD), "n": Array(np.array(3))}, row, torch.ones(6))
    assert row.tolist() == [-1, 0, 1, 2, 3, 4]


def test_the_order_of_names_does_not_matter():
    row = torch.empty(6)
    schema().read({"n": Array(np.array(3)), "w": Array(GOOD)}, row)
    assert row.tolist() == GOOD.reshape(-1).tolist()


def test_fortran_order_is_understood():
    row, _ = read(w=Array(np.asfortranarray(GOOD)))
    assert row.tolist() == GOOD.reshape(-1).tolist()


def head(shape, dtype="<f4"):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return out.getvalue()


def packed(data, shape=(2, 3), dtype="float32", stype="numpy.ndarray"):
    return Array(dtype, shape, stype, data)


def text(words):
    body = words.encode() + b"\n"
    return len(body).to_bytes(2, "little") + body + GOOD.tobytes()


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (Array(GOOD.astype(np.float64)), "float64"),
        (Array(GOOD.reshape(3, 2)), r"\[3, 2\]"),
        (Array(np.zeros(1, np.float32)), r"float32 \[1\], not float32 \[2, 3\]"),
        (packed(head((10**6, 10**6)) + bytes(24)), "not what its head says"),
        (packed(head((2, 3), "<f8") + bytes(24)), "not what its head says"),
        (packed(head((2, 3), ">f4") + bytes(24)), "not what its head says"),
        (packed(head((2, 3), "|O") + bytes(24)), "not what its head says"),
        (packed(b""), "0 bytes, not 24 and a head"),
        (packed(head((2, 3))), "not begin as NumPy's"),
        (packed(head((2, 3)) + bytes(10_000)), "bytes, not 24 and a head"),
        (packed(bytes(128) + GOOD.tobytes()), "does not begin as NumPy's arrays do"),
        (packed(b"\x93NUMPY\x09\x00" + bytes(100) + GOOD.tobytes()), "does not begin"),
        (packed(head((2, 3)) + bytes(28), stype="pickle"), "packed as 'pickle'"),
        (packed(GOOD.tobytes(), shape=(2,)), r"\[2\]"),
        (packed(b"\x93NUMPY\x01\x00" + text("-" * 3900 + "1")), "not what its head says"),
        (packed(b"\x93NUMPY\x01\x00" + text("(" * 3900)), "not what its head says"),
        (
            packed(GOOD.tobytes(), shape=(10**30,) * 999, dtype="\x1b[31m" * 99),
            r"\.\.\., not float32",
        ),
    ],
    ids=range(17),
)
def test_arrays_that_lie_are_refused_by_name(sent, why):
    with pytest.raises(UpdateError, match=why) as caught:
        read(w=sent)
    assert "'w'" in str(caught.value)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def test_missing_and_foreign_names_are_refused():
    with pytest.raises(UpdateError, match="'extra' is not part of the model"):
        read(extra=Array(GOOD))
    with pytest.raises(UpdateError, match="'n' is missing"):
        schema().read({"w": Array(GOOD)}, torch.empty(6))


@given(st.binary(max_size=400))
def test_no_bytes_do_more_than_be_refused(noise):
    for data in (noise, head((2, 3)) + noise, noise + GOOD.tobytes()):
        try:
            read(w=packed(data))
        except UpdateError:
            continue
        assert len(data) > 24


def test_a_server_that_begins_with_no_numbers_is_told():
    with pytest.raises(SettingError, match="no numbers"):
        Schema.of_arrays({"w": Array(np.array(["a"]))})
    with pytest.raises(SettingError, match="none holds floats"):
        Schema.of_arrays({"w": Array(np.arange(3))})


def test_whole_numbers_come_back_whole():
    found = Schema.of_arrays({"w": Array(GOOD), "n": Array(np.array(3))})
    record = found.record(torch.zeros(6), torch.tensor([2.6], dtype=torch.float64))
    assert record["n"].numpy() == 3
    assert record["n"].dtype == "int64"


def test_models_of_other_arrays_have_other_fingerprints():
    one, two = Schema.of_module(nn.Linear(2, 3)), Schema.of_module(nn.Linear(3, 2))
    assert one.fingerprint != two.fingerprint
    assert one.fingerprint == Schema.of_module(nn.Linear(2, 3)).fingerprint
    assert issubclass(UpdateError, FedadpError)
