"""Sampling: filters against known values, draws against their distribution, rows by themselves."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from models.logits_processing import process_logits
from models.sampling import CANDIDATES, SAMPLING_DTYPES, SamplingRows, probabilities, sample

DRAWS = 100_000

CASES = json.loads(
    (Path(__file__).parents[2] / "data" / "cases" / "sampling.json").read_text(encoding="utf-8")
)


def rows(count: int, **params: Any) -> SamplingRows:
    full = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0, **params}
    types = {"temperature": tf.float32, "top_k": tf.int32, "top_p": tf.float32, "min_p": tf.float32}
    return SamplingRows(
        **{
            name: tf.constant(np.broadcast_to(value, [count]), types.get(name, tf.int64))
            for name, value in full.items()
        }
    )


def filters(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case["params"].items() if name != "repetition_penalty"}


def chosen_from(case: dict[str, Any]) -> np.ndarray:
    """A case's logits after its penalties, [V]."""
    none = tf.zeros([1, 0], tf.int32)
    penalties = tf.constant([[case["params"].get("repetition_penalty", 1.0), 0.0, 0.0]])
    history, logits = tf.constant([case["history"]]), tf.constant([case["logits"]])
    processed = process_logits(
        logits, history, tf.constant([0]), penalties, none, tf.cast(none, tf.float32), none
    )
    return processed.numpy()[0]


@cache
def compiled(size: int) -> Any:
    """`sample` inside XLA, for any number of rows."""
    rows_spec = SamplingRows(*(tf.TensorSpec([None], dtype) for dtype in SAMPLING_DTYPES))
    specs = [tf.TensorSpec([None, size], tf.float32), rows_spec, tf.TensorSpec([None], tf.int32)]
    return tf.function(sample, input_signature=specs, jit_compile=True, autograph=False)


def draws(logits: np.ndarray, count: int, **params: Any) -> np.ndarray:
    """How often each id comes out over `count` seeds."""
    many = tf.repeat(tf.constant(logits, tf.float32)[None], count, axis=0)
    made = compiled(len(logits))(many, rows(count, seed=np.arange(count), **params), tf.fill([count], 7))
    return np.bincount(made.id.numpy(), minlength=len(logits))


def likelihood(counts: np.ndarray, wanted: np.ndarray) -> float:
    """P-value of drawn frequencies by chi-square, 0 if an impossible id was drawn.

    Ids too rare to tell are counted as one.
    """
    if counts[wanted == 0].any():
        return 0.0
    expected = wanted * counts.sum()
    rare = (expected < 10) & (wanted > 0)
    cells = [(counts[i], expected[i]) for i in np.flatnonzero((wanted > 0) & ~rare)]
    if expected[rare].sum() >= 10:
        cells.append((counts[rare].sum(), expected[rare].sum()))
    if len(cells) < 2:
        return 1.0
    found, hoped = np.array(cells, np.float64).T
    return chisquare(found, hoped / hoped.sum() * found.sum()).pvalue


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["params"]))
def test_probabilities_of_the_cases(case: dict[str, Any]):
    found = probabilities(tf.constant(chosen_from(case)[None]), rows(1, **filters(case)))
    np.testing.assert_allclose(found[0], case["probs"], atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["params"]))
def test_draws_follow_the_probabilities_of_the_cases(case: dict[str, Any]):
    assert likelihood(draws(chosen_from(case), DRAWS, **filters(case)), np.array(case["probs"])) > 0.001


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"top_k": 5},
        {"top_k": CANDIDATES + 40},
        {"top_k": 10**6},
        {"top_p": 0.5},
        {"top_p": 0.97},
        {"min_p": 0.02},
        {"min_p": 0.4},
        {"temperature": 2.0, "top_k": CANDIDATES + 40, "top_p": 0.9, "min_p": 0.02},
    ],
    ids=str,
)
def test_a_large_vocabulary_is_drawn_from_exactly(params: dict[str, Any]):
    logits = np.random.default_rng(1).normal(0, 1.2, 130).astype(np.float32)
    wanted = probabilities(tf.constant(logits[None]), rows(1, **params)).numpy()[0]
    assert likelihood(draws(logits, DRAWS, **params), wanted) > 0.001


@pytest.mark.parametrize(
    "params",
    [{"top_p": 0.1}, {"top_k": 900, "top_p": 0.05, "min_p": 0.5}],
    ids=str,
)
def test_rows_that_run_out_of_attempts_are_drawn_exactly(params: dict[str, Any]):
    # So little of a flat row is kept that about half of the rows reject every attempt.
    logits = np.random.default_rng(8).normal(0, 0.2, 1000).astype(np.float32)
    wanted = probabilities(tf.constant(logits[None]), rows(1, **params)).numpy()[0]
    assert likelihood(draws(logits, 5_000, **params), wanted) > 0.001


def test_temperature_zero_takes_the_best_id_and_the_first_of_equals():
    logits = tf.constant([[0.0, 3.0, 3.0, 1.0]])
    assert sample(logits, rows(1, temperature=0.0), tf.constant([0])).id.numpy() == [1]


def test_logprobs_are_of_the_raw_logits_whatever_is_chosen_from():
    raw = np.random.default_rng(2).normal(0, 2, (1, 50)).astype(np.float32)
    masked = np.where(np.arange(50) == 9, 0.0, -np.inf).astype(np.float32)[None]
    made = sample(tf.constant(raw), rows(1, temperature=0.5), tf.constant([3]), logits=tf.constant(masked))
    logprobs = raw[0] - np.log(np.exp(raw[0]).sum())
    assert made.id.numpy() == [9]
    np.testing.assert_allclose(made.logprob, [logprobs[9]], atol=1e-5)
    best = np.argsort(-raw[0])[:20]
    np.testing.assert_array_equal(made.top_ids[0], best)
    np.testing.assert_allclose(made.top_logprobs[0], logprobs[best], atol=1e-5)


def test_a_vocabulary_below_twenty_fills_up():
    made = sample(tf.constant([[0.5, 0.1, 0.9]]), rows(1), tf.constant([3]))
    assert made.top_ids.numpy()[0].tolist() == [2, 0, 1] + [-1] * 17
    assert np.isneginf(made.top_logprobs.numpy()[0, 3:]).all()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.3, 1.0, 2.0]),
            st.sampled_from([0, 1, 30, 90, 400]),
            st.sampled_from([0.004, 0.2, 0.95, 1.0]),
            st.sampled_from([0.0, 0.01, 0.5]),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(0, 5000),
        ),
        min_size=2,
        max_size=6,
    )
)
def test_a_row_does_not_depend_on_its_batch(params: list[tuple]):
    columns = [np.array(column) for column in zip(*params, strict=True)]
    names = ("temperature", "top_k", "top_p", "min_p", "seed")
    logits = tf.constant(np.random.default_rng(3).normal(0, 1, (len(params), 250)), tf.float32)
    position = tf.constant(columns[5], tf.int32)
    together = sample(logits, rows(len(params), **dict(zip(names, columns, strict=False))), position)
    for index, row in enumerate(params):
        alone = sample(
            logits[index : index + 1],
            rows(1, **dict(zip(names, row, strict=False))),
            position[index : index + 1],
        )
        assert alone.id.numpy()[0] == together.id.numpy()[index]


PARAMS = {
    "temperature": [0.0, 1.0, 0.7, 1.0, 2.0, 1.0, 1.3, 1.0, 2.0],
    "top_k": [0, 0, 50, 0, 0, 90, 1, 100, 120],
    "top_p": [1.0, 1.0, 0.95, 0.9, 0.95, 1.0, 1.0, 0.8, 0.05],
    "min_p": [0.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.0],
}


def test_the_same_seed_makes_the_same_id_compiled_or_not_and_for_any_number_of_rows():
    logits = np.random.default_rng(5).normal(0, 1.2, (9, 130)).astype(np.float32)
    many = compiled(130)
    for seed in range(12):
        params = {**PARAMS, "seed": seed}
        position = tf.range(9)
        plain = sample(tf.constant(logits), rows(9, **params), position)
        inside = many(tf.constant(logits), rows(9, **params), position)
        alone = [
            many(
                tf.constant(logits[b : b + 1]),
                rows(1, seed=seed, **{name: values[b] for name, values in PARAMS.items()}),
                tf.constant([b]),
            ).id.numpy()[0]
            for b in range(9)
        ]
        np.testing.assert_array_equal(inside.id, plain.id)
        np.testing.assert_array_equal(inside.id, alone)
        np.testing.assert_allclose(inside.logprob, plain.logprob, atol=1e-5)
        np.testing.assert_array_equal(inside.top_ids, plain.top_ids)
        np.testing.assert_allclose(inside.top_logprobs, plain.top_logprobs, atol=1e-5)


def test_logits_of_another_rounding_hardly_ever_change_the_id():
    # Other kernels and batch sizes round otherwise; noise per id changes an id only in a near tie.
    logits = np.random.default_rng(6).normal(0, 2, 130).astype(np.float32)
    rounded = logits + np.random.default_rng(7).normal(0, 1e-5, 130).astype(np.float32)
    params = {"seed": np.arange(20_000), "top_k": 50, "top_p": 0.95}
    position = tf.fill([20_000], 3)
    one, other = (
        compiled(130)(tf.repeat(tf.constant(x)[None], 20_000, axis=0), rows(20_000, **params), position).id
        for x in (logits, rounded)
    )
    assert np.count_nonzero(one.numpy() != other.numpy()) <= 8


def test_nan_logits_give_an_id_within_the_vocabulary():
    made = sample(tf.fill([2, 100], float("nan")), rows(2, temperature=[0.0, 1.0]), tf.constant([1, 1]))
    assert ((made.id.numpy() >= 0) & (made.id.numpy() < 100)).all()
