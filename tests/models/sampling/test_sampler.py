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

from models.sampling import CANDIDATES, SAMPLING_DTYPES, SamplingRows, probabilities, sample, uniform

DRAWS = 100_000

CASES = [
    case
    for case in json.loads(
        (Path(__file__).parents[2] / "data" / "cases" / "sampling.json").read_text(encoding="utf-8")
    )
    if "repetition_penalty" not in case["params"]
]


def rows(count: int, **params: Any) -> SamplingRows:
    full = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0, **params}
    types = {"temperature": tf.float32, "top_k": tf.int32, "top_p": tf.float32, "min_p": tf.float32}
    return SamplingRows(
        **{
            name: tf.constant(np.broadcast_to(value, [count]), types.get(name, tf.int64))
            for name, value in full.items()
        }
    )


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


def follows(counts: np.ndarray, wanted: np.ndarray) -> None:
    """Chi-square of drawn frequencies; ids too rare to tell are counted as one."""
    assert not counts[wanted == 0].any()
    expected = wanted * counts.sum()
    rare = (expected < 10) & (wanted > 0)
    cells = [(counts[i], expected[i]) for i in np.flatnonzero((wanted > 0) & ~rare)]
    if expected[rare].sum() >= 10:
        cells.append((counts[rare].sum(), expected[rare].sum()))
    if len(cells) > 1:
        found, hoped = np.array(cells, np.float64).T
        assert chisquare(found, hoped / hoped.sum() * found.sum()).pvalue > 0.001


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["params"]))
def test_probabilities_of_the_cases(case: dict[str, Any]):
    found = probabilities(tf.constant([case["logits"]]), rows(1, **case["params"]))
    np.testing.assert_allclose(found[0], case["probs"], atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["params"]))
def test_draws_follow_the_probabilities_of_the_cases(case: dict[str, Any]):
    follows(draws(np.array(case["logits"]), DRAWS, **case["params"]), np.array(case["probs"]))


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
    follows(draws(logits, DRAWS, **params), wanted)


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
            st.sampled_from([0.2, 0.95, 1.0]),
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


def test_uniform_is_even_and_independent_of_neighbours():
    seeds, positions = np.meshgrid(np.arange(200), np.arange(200), indexing="ij")
    u = uniform(tf.constant(seeds.ravel(), tf.int64), tf.constant(positions.ravel(), tf.int32)).numpy()
    assert u.min() >= 0
    assert u.max() < 1
    shares = np.histogram(u, bins=20, range=(0, 1))[0] / u.size
    np.testing.assert_allclose(shares, 0.05, atol=0.006)
    grid = u.reshape(200, 200)
    for one, other in ((grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.03


def test_uniform_is_the_published_generator():
    # SplitMix64 seeded with 0 starts with this number; the position is mixed in by a second round.
    first = 0xE220A8397B1DCDAF
    mask = 2**64 - 1

    def mix(state: int) -> int:
        state = (state + 0x9E3779B97F4A7C15) & mask
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
        return state ^ (state >> 31)

    assert mix(0) == first
    wanted = (mix((first + 41) & mask) >> 40) / 2**24
    assert uniform(tf.constant([0], tf.int64), tf.constant([41])).numpy()[0] == wanted


def test_nan_logits_give_an_id_within_the_vocabulary():
    made = sample(tf.fill([2, 100], float("nan")), rows(2, temperature=[0.0, 1.0]), tf.constant([1, 1]))
    assert ((made.id.numpy() >= 0) & (made.id.numpy() < 100)).all()
