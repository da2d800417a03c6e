import json

import pytest
import torch
from safetensors.torch import save_file

from fedadp import Cohort, FedAdp
from fedadp.errors import UpdateError


def files(tmp_path, *updates):
    paths = [tmp_path / f"node{i}.safetensors" for i in range(len(updates))]
    for path, tensors in zip(paths, updates, strict=True):
        save_file(tensors, path)
    return paths


def entries(**changes):
    plain = {
        "a.weight": torch.randn(40, 30),
        "b.bias": torch.randn(7),
        "bn.running_mean": torch.randn(4) * 1e6,
        "bn.num_batches_tracked": torch.tensor(3),
    }
    return {**plain, **changes}


def test_a_cohort_on_disk_is_the_same_as_in_memory(tmp_path):
    updates = [entries() for _ in range(4)]
    nodes, examples = [5, 2, 9, 0], [10, 20, 30, 40]
    there = Cohort.of_files(nodes, files(tmp_path, *updates), examples)
    here = Cohort.of(nodes, updates, examples)
    assert there.size == here.size == 1207
    assert torch.equal(there.geometry().cosines, here.geometry().cosines)
    one = FedAdp().step(FedAdp().init(), there)
    two = FedAdp().step(FedAdp().init(), here)
    assert torch.equal(one.delta, two.delta)


def test_slabs_of_a_large_file_are_read_one_by_one(tmp_path):
    updates = [{"w": torch.randn(3_000_000)} for _ in range(2)]
    there = Cohort.of_files([0, 1], files(tmp_path, *updates), [1, 2])
    assert len(list(there.cuts())) == 3
    here = Cohort.of([0, 1], torch.stack([u["w"] for u in updates]), [1, 2])
    assert torch.equal(there.combine(there.shares), here.combine(here.shares))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"b.bias": torch.randn(8)}, "'b.bias' is torch.float32 of"),
        ({"b.bias": torch.randn(7).double()}, "'b.bias' is torch.float64"),
        ({"c": torch.randn(2)}, "'c' is not in both"),
    ],
)
def test_files_of_different_models_are_refused(tmp_path, change, says):
    paths = files(tmp_path, entries(), entries(**change))
    with pytest.raises(UpdateError, match=says):
        Cohort.of_files([0, 1], paths, [1, 1])


def test_what_is_no_file_of_updates_is_refused(tmp_path):
    good = files(tmp_path, entries())[0]
    with pytest.raises(UpdateError, match="not a safetensors file"):
        Cohort.of_files([0], [tmp_path / "none"], [1])
    bad = tmp_path / "bad"
    for content in (b"", b"\xff" * 8, b"\x10" + bytes(7) + b"{" * 16, good.read_bytes()[:-1]):
        bad.write_bytes(content)
        with pytest.raises(UpdateError, match="not a safetensors file"):
            Cohort.of_files([0], [bad], [1])
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 8]}}).encode()
    bad.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(UpdateError, match="not a safetensors file"):
        Cohort.of_files([0], [bad], [1])
    save_file({"n": torch.tensor([1, 2])}, bad)
    with pytest.raises(UpdateError, match="holds no floats"):
        Cohort.of_files([0], [bad], [1])


def test_a_file_that_shrinks_under_way_is_named(tmp_path):
    (path,) = files(tmp_path, entries())
    cohort = Cohort.of_files([0], [path], [1])
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UpdateError, match="shorter than it was"):
        cohort.geometry()


def test_a_value_on_disk_that_is_not_finite_names_its_node(tmp_path):
    paths = files(tmp_path, entries(), entries(**{"b.bias": torch.full((7,), torch.nan)}))
    with pytest.raises(UpdateError, match="node 8 "):
        Cohort.of_files([4, 8], paths, [1, 1]).geometry()


def test_a_step_can_be_had_by_name_and_in_a_model_s_own_order(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
    updates = [{**model.state_dict(), "0.bias": torch.full((1,), float(i))} for i in (1, 3)]
    paths = files(tmp_path, *updates)
    here = Cohort.of([0, 1], updates, [1, 1])
    there = Cohort.of_files([0, 1], paths, [1, 1], order=list(model.state_dict()))
    assert list(here.entries) == list(there.entries) == [n for n, _ in model.named_parameters()]
    assert torch.equal(here.combine(here.shares), there.combine(there.shares))
    step = there.named(there.combine(there.shares))
    assert step["0.bias"].tolist() == [2.0]
    assert step["0.weight"].shape == (1, 2)
    with pytest.raises(UpdateError, match=r"'0.bias' has no place in the order"):
        Cohort.of_files([0, 1], paths, [1, 1], order=["0.weight"])
    with pytest.raises(UpdateError, match="came without names"):
        Cohort.of([0], torch.ones(1, 3), [1]).named(torch.ones(3))
