"""Masks, biases and penalties against a plain loop over ids."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from models.logits_processing import process_logits

V = 70
NEUTRAL = {
    "history": np.zeros([2, 0], np.int32),
    "generated_from": np.zeros(2, np.int32),
    "penalties": np.array([[1, 0, 0]] * 2, np.float32),
    "bias_ids": np.zeros([2, 0], np.int32),
    "bias_values": np.zeros([2, 0], np.float32),
    "allowed": np.zeros([2, 0], np.int32),
}
RAW = np.random.default_rng(1).normal(size=(2, V)).astype(np.float32)


def process(**inputs: object) -> np.ndarray:
    rows = {name: tf.constant(value) for name, value in {**NEUTRAL, **inputs}.items()}
    return process_logits(tf.constant(RAW), **rows).numpy()


def words(rows: list[list[int]], count: int) -> np.ndarray:
    packed = np.zeros([len(rows), count], np.uint32)
    for row, ids in enumerate(rows):
        for value in ids:
            packed[row, value // 32] |= np.uint32(1) << np.uint32(value % 32)
    return packed.astype(np.int32)


def test_nothing_asked_for_changes_nothing():
    np.testing.assert_array_equal(process(), RAW)
    np.testing.assert_array_equal(process(history=np.array([[3, 4], [5, -1]], np.int32)), RAW)
    np.testing.assert_array_equal(
        process(bias_ids=-np.ones([2, 3], np.int32), bias_values=np.ones([2, 3], np.float32)), RAW
    )


def test_only_allowed_ids_stay():
    ids = [[0, 31, 32, 69], [5]]
    found = process(allowed=words(ids, 3))
    for row, kept in enumerate(ids):
        assert np.flatnonzero(np.isfinite(found[row])).tolist() == kept
        np.testing.assert_array_equal(found[row, kept], RAW[row, kept])


def test_ids_beyond_the_words_are_not_allowed_and_words_beyond_the_ids_are_harmless():
    assert np.isfinite(process(allowed=words([[1, 40]] * 2, 2))).sum(1).tolist() == [2, 2]
    assert not np.isfinite(process(allowed=words([[1]] * 2, 1))[:, 32:]).any()
    np.testing.assert_array_equal(process(allowed=np.full([2, 5], -1, np.int32)), RAW)


def test_a_row_that_allows_nothing_allows_everything():
    found = process(allowed=words([[], [7]], 3))
    np.testing.assert_array_equal(found[0], RAW[0])
    assert np.isfinite(found[1]).sum() == 1


def reference(
    history: list[int], start: int, penalties: list[float], bias: dict[int, float], row: int
) -> np.ndarray:
    logits = RAW[row].astype(np.float64)
    repetition, frequency, presence = penalties
    for value in range(V):
        logits[value] += bias.get(value, 0)
        if value in history:
            logits[value] = logits[value] / repetition if logits[value] > 0 else logits[value] * repetition
        count = history[start:].count(value)
        logits[value] -= frequency * count + presence * (count > 0)
    return logits


penalty = st.floats(-2, 2, width=32)
one_row = st.fixed_dictionaries(
    {
        "history": st.lists(st.integers(0, 9), max_size=12),
        "start": st.integers(0, 12),
        "penalties": st.tuples(st.floats(0.125, 2, width=32), penalty, penalty),
        "bias": st.dictionaries(st.integers(0, V - 1), st.floats(-100, 100, width=32), max_size=4),
    }
)


@settings(max_examples=40, deadline=None)
@given(rows=st.tuples(one_row, one_row), extra=st.integers(0, 3))
def test_rows_equal_the_plain_loop(rows: tuple[dict, dict], extra: int):
    longest = max(len(row["history"]) for row in rows) + extra
    most = max(len(row["bias"]) for row in rows) + extra
    history = np.full([2, longest], -1, np.int32)
    bias_ids = np.full([2, most], -1, np.int32)
    bias_values = np.full([2, most], 9, np.float32)
    for index, row in enumerate(rows):
        history[index, : len(row["history"])] = row["history"]
        bias_ids[index, : len(row["bias"])] = list(row["bias"])
        bias_values[index, : len(row["bias"])] = list(row["bias"].values())
    found = process(
        history=history,
        generated_from=np.array([row["start"] for row in rows], np.int32),
        penalties=np.array([row["penalties"] for row in rows], np.float32),
        bias_ids=bias_ids,
        bias_values=bias_values,
    )
    for index, row in enumerate(rows):
        wanted = reference(row["history"], row["start"], row["penalties"], row["bias"], index)
        np.testing.assert_allclose(found[index], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("repetition", [0.5, 2.0])
def test_a_masked_id_stays_masked(repetition: float):
    found = process(
        allowed=words([[3]] * 2, 3),
        history=np.array([[3, 4]] * 2, np.int32),
        penalties=np.array([[repetition, -2, 2]] * 2, np.float32),
        bias_ids=np.array([[4]] * 2, np.int32),
        bias_values=np.full([2, 1], 100, np.float32),
    )
    assert np.isneginf(found[:, 4]).all()
    assert np.isfinite(found[:, 3]).all()
