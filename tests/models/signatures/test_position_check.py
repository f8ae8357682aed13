"""Positions beyond the block table or the context are refused by name, and nothing is written then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.contract.signatures import NO_ID
from models.packed.pack_decoder import pack_decoder
from models.signatures.compiled_signatures import CompiledSignatures
from models.signatures.tensor_specs import input_specs
from tests.models.paged_driver import BLOCK_SIZE, PagedDriver, sampling_rows

WIDE = np.arange(1, 64)[None]
"""A table of 252 positions; the context is 256."""
FULL = np.concatenate([WIDE, WIDE], axis=1)
"""A table wider than the context."""
TABLE = np.array([[1, 2]])
"""A table of eight positions."""


@pytest.fixture(scope="module")
def driver(tiny_checkpoint: Path) -> PagedDriver:
    return PagedDriver(load_checkpoint(tiny_checkpoint))


def prefill(**changes: Any) -> tuple[str, dict[str, Any]]:
    return "prefill", {"ids": [[5] * 4], "lengths": [4], "start": [0], "block_table": TABLE, **changes}


def decode(**changes: Any) -> tuple[str, dict[str, Any]]:
    stops = [[NO_ID]]
    return "decode", {
        "last_id": [5],
        "length": [4],
        "block_table": TABLE,
        "stop_ids": stops,
        "steps": 1,
        **changes,
    }


def verify(**changes: Any) -> tuple[str, dict[str, Any]]:
    drafts = {"draft_ids": [[5, 6, 7]], "draft_lengths": [3]}
    return "verify", {"last_id": [5], "length": [4], "block_table": TABLE, **drafts, **changes}


def full(**changes: Any) -> tuple[str, dict[str, Any]]:
    inputs = decode()[1]
    del inputs["steps"]
    none = np.zeros([1, 0])
    nothing = {"history": none, "generated_from": [0], "penalties": [[1.0, 0.0, 0.0]]}
    nothing |= {"bias_ids": none, "bias_values": none, "allowed": none}
    return "decode_full", {**inputs, **nothing, **changes}


BEYOND = r"go beyond the columns of `block_table`, 4 positions each, or beyond the context of 256"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (prefill(start=[-1]), r"`start` must be at least 0:\] \[-1\]"),
        (prefill(lengths=[-1]), r"`lengths` must be 0 to the number of columns of `ids`:\] \[-1\]"),
        (prefill(lengths=[5]), r"`lengths` must be 0 to .*\] \[5\] \[columns:\] \[4\]"),
        (prefill(start=[5]), rf"`start` and lengths {BEYOND}"),
        (prefill(start=[253], block_table=FULL), rf"`start` and lengths {BEYOND}"),
        (prefill(start=[2**31 - 1]), rf"`start` and lengths {BEYOND}"),
        (decode(steps=0), r"`steps` must be at least 1:\] \[0\]"),
        (decode(steps=-3), r"`steps` must be at least 1"),
        (decode(length=[-1]), r"`length` must be at least 0"),
        (decode(steps=5), rf"`length` and steps {BEYOND}.* \[4\] \[steps:\] \[5\] \[columns:\] \[2\]"),
        (decode(length=[8]), rf"`length` and steps {BEYOND}"),
        (decode(length=[255], steps=2, block_table=FULL), rf"`length` and steps {BEYOND}"),
        (decode(steps=2**31 - 1), rf"`length` and steps {BEYOND}"),
        (decode(length=[2**31 - 1]), rf"`length` and steps {BEYOND}"),
        (verify(length=[-1]), r"`length` must be at least 0"),
        (verify(draft_lengths=[-1]), r"`draft_lengths` must be 0 to the number of columns of `draft_ids`"),
        (verify(draft_lengths=[4]), r"`draft_lengths` must be 0 to the number of columns of `draft_ids`"),
        (verify(length=[5]), rf"`length` and drafts \+ 1 {BEYOND}"),
        (verify(length=[253], block_table=FULL), rf"`length` and drafts \+ 1 {BEYOND}"),
        (full(length=[-1]), r"`length` must be at least 0"),
        (full(length=[8]), rf"`length` and its step {BEYOND}"),
    ],
)
def test_what_lies_beyond_is_refused_by_name_and_writes_nothing(
    driver: PagedDriver, call: tuple[str, dict[str, Any]], message: str
):
    driver.call("reset")
    name, inputs = call
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        driver.call(name, **inputs, **sampling_rows(1))
    for arena in (*driver.cache.keys, *driver.cache.values):
        assert not arena.gather(tf.constant([[[block, 0]] for block in range(3)])).numpy().any()


@pytest.mark.parametrize(
    "call",
    [
        prefill(start=[4]),
        prefill(start=[8], lengths=[0]),
        decode(steps=4),
        decode(length=[7]),
        decode(length=[248], steps=4, block_table=WIDE),
        decode(length=[255], block_table=FULL),
        verify(),
        verify(length=[7], draft_lengths=[0]),
        full(length=[7]),
    ],
)
def test_the_last_position_is_taken(driver: PagedDriver, call: tuple[str, dict[str, Any]]):
    name, inputs = call
    made = driver.call(name, **inputs, **sampling_rows(1))
    assert all(np.isfinite(value).all() for key, value in made.items() if "logprob" in key)
    assert any("logprob" in key for key in made)


def test_rows_that_fill_up_a_batch_are_taken(driver: PagedDriver):
    table = np.concatenate([TABLE, np.zeros_like(TABLE)])
    one, two = sampling_rows(1), sampling_rows(2)
    name, inputs = decode(steps=4)
    alone = driver.call(name, **inputs, **one)
    filled = {"last_id": [5, 0], "length": [4, 0], "stop_ids": [[NO_ID]] * 2, "block_table": table}
    together = driver.call(name, **{**inputs, **filled}, **two)
    assert together["ids"][0].tolist() == alone["ids"][0].tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": [-1]}, r"`length` must be at least 0"),
        ({"length": [5], "steps": 4}, rf"`length` and steps {BEYOND}"),
        ({"length": [256], "block_table": FULL}, rf"`length` and steps {BEYOND}"),
    ],
)
def test_compiled_calls_are_refused_before_they_are_compiled(
    tiny_checkpoint: Path, driver: PagedDriver, changes: dict[str, Any], message: str
):
    decoder = pack_decoder(load_checkpoint(tiny_checkpoint), "throughput", "float32")
    endpoint = CompiledSignatures(decoder, driver.cache).endpoints()["decode_xla"]
    specs = input_specs("decode_xla")
    function = tf.function(endpoint, input_signature=specs, autograph=False)
    inputs = {**decode(**changes)[1], **sampling_rows(1)}
    assert BLOCK_SIZE == 4
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        function(*[tf.constant(inputs[spec.name], spec.dtype) for spec in specs])
