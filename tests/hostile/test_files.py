"""Any file is read, or refused in one sentence: checkpoints, experiments, data."""

import gzip
import json
import struct

import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.targets import target

checkpoint, experiment, idx = (target(name).check for name in ("checkpoint", "experiment", "idx"))
HEAD = {"format": "fedadp checkpoint 1", "experiment": "digest", "number": 3}
STATE = {"rounds": 1, "nodes": None, "smoothed": None, "seen": None}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
RAW = [seed for seed in target("checkpoint").seeds() if seed[0] == 0]


@given(st.sampled_from(["format", "experiment", "number", "state", "sha256", "more"]), values)
@settings(deadline=None, max_examples=150)
def test_any_head_with_a_checksum_that_fits(key, value):
    for kind in (b"\2", b"\3"):
        checkpoint(kind + json.dumps({**HEAD, "state": STATE, key: value}).encode())


@given(st.dictionaries(st.sampled_from(sorted(STATE)), values), st.booleans())
@settings(deadline=None, max_examples=150)
def test_any_state_with_a_checksum_that_fits(parts, inside):
    state = {**STATE, **parts}
    head = {**HEAD, "state": {"inner": state, "velocity": None} if inside else state}
    checkpoint((b"\3" if inside else b"\2") + json.dumps(head).encode())


@given(st.sampled_from(RAW), st.integers(0, 2000), st.integers(0, 2000), st.binary(max_size=9))
@settings(deadline=None, max_examples=150)
def test_a_checkpoint_with_a_piece_replaced(raw, begin, length, other):
    checkpoint(raw[: 1 + begin] + other + raw[1 + begin + length :])


KEYS = ("data", "partition", "model", "training", "strategy", "engine", "rounds", "seed", "cells")
NAMES = ("fedadp", "momentum", "robust", "paper", "shards", "synthetic", "mlr", "batched", "idx")
OPTIONS = ("name", "inner", "alpha", "smoothing", "nodes", "examples", "quorum", "shape", "epochs")
plain = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.sampled_from(NAMES)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
)
settings_ = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(OPTIONS), inner, max_size=4)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(KEYS), settings_, max_size=4))
@settings(deadline=None, max_examples=200)
def test_any_table_of_known_words(table):
    experiment(tomli_w.dumps(table).encode())


@given(st.binary(max_size=60), st.lists(st.binary(max_size=20), max_size=3))
@settings(deadline=None, max_examples=150)
def test_any_text_and_any_changes(text, changes):
    experiment(b"\0".join([text, *changes]))
    experiment(b"\0".join([b"", *(b"strategy.alpha=" + change for change in changes)]))


@given(st.lists(st.sampled_from([0, 1, 2, 7, 2**31, 2**32 - 1]), max_size=6), st.binary(max_size=9))
@settings(deadline=None, max_examples=200)
def test_any_shape_of_an_array(shape, tail):
    raw = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + tail
    idx(raw)
    idx(gzip.compress(raw))
    idx(gzip.compress(raw)[: -len(tail) or None])
