"""Padding adds greedy rows of length 0 in the null block, and nothing else."""

from __future__ import annotations

import numpy as np

from models.contract.sampling_params import SamplingParams
from models.contract.signatures import NO_ID, NULL_BLOCK, SIGNATURES
from serving.engine.decode_row import DecodeRow
from serving.runners.bucket import Bucket
from serving.runners.padded_rows import cut_rows, groups_of_rows, joined_rows, null_rows, pad_rows
from serving.runners.step_arrays import decode_arrays

PARAMS = SamplingParams(temperature=0.7, top_k=5, top_p=0.9, seed=3)
ROWS = [
    DecodeRow("a", 17, 5, (3, 4), PARAMS, (0, 2)),
    DecodeRow("b", 18, 9, (5, 6, 7), PARAMS, ()),
]


def test_rows_and_columns_are_filled_up():
    arrays = decode_arrays(ROWS, 3)
    padded = pad_rows(arrays, Bucket(4, 5))
    for name, value in arrays.items():
        if value.ndim == 1:
            np.testing.assert_array_equal(padded[name][:2], value)
        assert padded[name].dtype == value.dtype
    assert padded["block_table"].tolist() == [[3, 4, 0, 0, 0], [5, 6, 7, 0, 0], [0] * 5, [0] * 5]
    assert padded["stop_ids"].tolist() == [[0, 2], [NO_ID] * 2, [NO_ID] * 2, [NO_ID] * 2]
    assert padded["temperature"][2:].tolist() == padded["length"][2:].tolist() == [0, 0]
    assert padded["top_p"][2:].tolist() == [1, 1]
    assert padded["steps"] == 3


def test_columns_that_are_not_reached_are_cut():
    assert pad_rows(decode_arrays(ROWS, 1), Bucket(2, 2))["block_table"].tolist() == [[3, 4], [5, 6]]


def test_a_full_bucket_changes_nothing():
    arrays = decode_arrays(ROWS, 1)
    padded = pad_rows(arrays, Bucket(2, 3))
    assert list(padded) == list(arrays)
    for name, value in arrays.items():
        np.testing.assert_array_equal(padded[name], value)


def test_outputs_are_cut_back():
    cut = cut_rows({"ids": np.arange(6).reshape(3, 2), "nonce": np.int64(9)}, 2)
    assert (cut["ids"].tolist(), cut["nonce"]) == ([[0, 1], [2, 3]], 9)


def test_groups_hold_every_row_once_and_all_scalars():
    groups = groups_of_rows(decode_arrays([*ROWS, ROWS[0]], 3), 2)
    assert [group["last_id"].tolist() for group in groups] == [[17, 18], [17]]
    assert [group["block_table"].shape for group in groups] == [(2, 3), (1, 3)]
    assert [group["steps"] for group in groups] == [3, 3]


def test_joined_outputs_are_in_order_and_carry_the_newest_nonce():
    first = {"ids": np.arange(6).reshape(3, 2), "nonce": np.int64(9)}
    second = {"ids": np.arange(6, 8).reshape(1, 2), "nonce": np.int64(10)}
    joined = joined_rows([first, second])
    assert (joined["ids"].tolist(), joined["nonce"]) == ([[0, 1], [2, 3], [4, 5], [6, 7]], 10)
    assert joined_rows([first]) is first


def test_warm_up_rows_have_the_signatures_inputs_and_only_the_null_block():
    arrays = null_rows(Bucket(3, 2))
    specs = SIGNATURES["decode_xla"].inputs
    assert list(arrays) == list(specs)
    for name, spec in specs.items():
        assert (arrays[name].dtype.name, arrays[name].ndim) == (spec.dtype, len(spec.shape))
    assert arrays["block_table"].tolist() == [[NULL_BLOCK] * 2] * 3
    assert arrays["steps"] == 1
