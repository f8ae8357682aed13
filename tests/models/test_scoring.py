from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from models import scoring
from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from models.scoring import CheckpointScorer
from tests.tiny import TINY, write_tiny_checkpoint

V = TINY.vocab_size
IDS = np.random.default_rng(0).integers(0, V, (6, 20)).astype(np.int32)
LENGTHS = np.array([20, 13, 1, 20, 2, 7], np.int32)
SCORE_FROM = np.array([0, 5, 1, 1, 1, 7], np.int32)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return load_checkpoint(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def scorer(decoder: Decoder) -> CheckpointScorer:
    return CheckpointScorer(decoder)


def _reference(decoder: Decoder) -> np.ndarray:
    logits = np.asarray(decoder(IDS), np.float64)
    log_probs = logits - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True))
    log_probs -= logits.max(-1, keepdims=True)
    sums = []
    for row in range(len(IDS)):
        positions = range(max(1, SCORE_FROM[row]), LENGTHS[row])
        sums.append(-sum(log_probs[row, t - 1, IDS[row, t]] for t in positions))
    return np.array(sums)


def test_sums_equal_those_of_the_full_log_softmax(decoder: Decoder, scorer: CheckpointScorer):
    nll_sum, scored = scorer.score(IDS, LENGTHS, SCORE_FROM)
    np.testing.assert_allclose(nll_sum, _reference(decoder), rtol=1e-5, atol=1e-5)
    assert scored.tolist() == [19, 8, 0, 19, 1, 0]
    assert (nll_sum.dtype, scored.dtype) == (np.float32, np.int32)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(6)), size=st.integers(1, 6))
def test_neither_batch_size_nor_order_matters(scorer: CheckpointScorer, order: list[int], size: int):
    wanted, _ = scorer.score(IDS, LENGTHS, SCORE_FROM)
    found = np.zeros(6, np.float32)
    for start in range(0, 6, size):
        rows = list(order[start : start + size])
        found[rows], _ = scorer.score(IDS[rows], LENGTHS[rows], SCORE_FROM[rows])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_padding_is_masked_by_length_never_by_id(scorer: CheckpointScorer):
    wanted, _ = scorer.score(IDS, LENGTHS, SCORE_FROM)
    for filler in (-1, 0, V + 1000):
        padded = np.full((6, 33), filler, np.int32)
        padded[:, :20] = np.where(np.arange(20) < LENGTHS[:, None], IDS, filler)
        np.testing.assert_allclose(scorer.score(padded, LENGTHS, SCORE_FROM)[0], wanted, rtol=1e-5, atol=1e-5)


def test_groups_and_chunks_do_not_show(decoder: Decoder, monkeypatch: pytest.MonkeyPatch):
    wanted, _ = CheckpointScorer(decoder).score(IDS, LENGTHS, SCORE_FROM)
    monkeypatch.setattr(scoring, "GROUP_TOKENS", 40)
    monkeypatch.setattr(scoring, "LOGIT_FLOATS", 3 * V)
    found, _ = CheckpointScorer(decoder).score(IDS, LENGTHS, SCORE_FROM)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_uniform_model_scores_the_vocabulary_size():
    scorer = CheckpointScorer(Decoder(TINY, initializer="zeros"))
    nll_sum, scored = scorer.score(IDS, LENGTHS, np.zeros(6, np.int32))
    assert math.exp(nll_sum.sum() / scored.sum()) == pytest.approx(V, rel=1e-5)


def test_the_first_token_is_never_scored_and_the_last_is(decoder: Decoder, scorer: CheckpointScorer):
    one = np.array([20], np.int32)
    last, scored = scorer.score(IDS[:1], one, one - 1)
    logits = decoder(IDS[:1])[0, -2]
    assert scored.tolist() == [1]
    np.testing.assert_allclose(last[0], -tf.nn.log_softmax(logits)[IDS[0, -1]], rtol=1e-5)
    all_from_zero = scorer.score(IDS[:1], one, one * 0)
    all_from_one = scorer.score(IDS[:1], one, one * 0 + 1)
    assert [value.tolist() for value in all_from_zero] == [value.tolist() for value in all_from_one]


def test_nothing_to_score_is_zero(scorer: CheckpointScorer):
    none = np.zeros(0, np.int32)
    assert [part.tolist() for part in scorer.score(np.zeros((0, 5), np.int32), none, none)] == [[], []]
    zero = np.zeros(2, np.int32)
    assert [part.tolist() for part in scorer.score(IDS[:2], zero, zero)] == [[0, 0], [0, 0]]


def test_a_nan_in_the_weights_reaches_the_sum(tmp_path: Path):
    decoder = load_checkpoint(write_tiny_checkpoint(tmp_path))
    decoder.final_norm.assign(np.full(TINY.hidden_size, np.nan, np.float32))
    nll_sum, scored = CheckpointScorer(decoder).score(IDS, LENGTHS, SCORE_FROM)
    assert np.isnan(nll_sum[scored > 0]).all()


def test_one_trace_serves_all_shapes(decoder: Decoder):
    scorer = CheckpointScorer(decoder)
    for rows, columns in ((1, 5), (6, 20), (3, 1)):
        count = np.full(rows, columns, np.int32)
        scorer.score(IDS[:rows, :columns], count, count * 0)
    assert scorer._score.experimental_get_tracing_count() == 1
