"""What may not change a perplexity: batch size, padding, order, windows; and what must decide it."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.perplexity_evaluator.eval_window import EvalWindow, choose_windows
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.gate import judge, verdict
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.slice_comparison import compare
from components.perplexity_evaluator.tokenized_document import TokenizedDocument
from components.perplexity_evaluator.window_scores import WindowScores
from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from models.scoring import CheckpointScorer, Scorer
from monitoring.perplexity import Perplexity
from tests.tiny import TINY, write_tiny_checkpoint

V = TINY.vocab_size
BYTES = [b"x"] * V
ids = st.integers(0, V - 1)
documents = st.lists(st.lists(ids, min_size=2, max_size=24), min_size=1, max_size=5)
WARM = settings(max_examples=15, deadline=None)


@dataclass
class AloneScorer:
    """Hands rows on one by one, with `padding` ids of `filler` behind each; 0 leaves no side to pad."""

    scorer: Scorer
    padding: int
    filler: int

    def score(
        self, ids: np.ndarray, lengths: np.ndarray, score_from: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        behind = np.full(self.padding, self.filler, np.int32)
        found = [
            self.scorer.score(np.concatenate([row[:length], behind])[None], length[None], start[None])
            for row, length, start in zip(ids, lengths, score_from, strict=True)
        ]
        return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> CheckpointScorer:
    return CheckpointScorer(load_checkpoint(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny"))))


@pytest.fixture(scope="module")
def uniform() -> CheckpointScorer:
    return CheckpointScorer(Decoder(TINY, initializer="zeros"))


def _windows(rows: list[list[int]], context: int, stride: int) -> list[EvalWindow]:
    ready = [TokenizedDocument(f"d{i}", "s", row) for i, row in enumerate(rows)]
    return choose_windows(ready, context=context, stride=stride, num_tokens=10**6, token_bytes=BYTES)


def _perplexity(scorer: Scorer, windows: list[EvalWindow], batch_size: int = 4) -> float:
    scores = WindowScores.measure(scorer, windows, batch_size=batch_size, progress=lambda _: None)
    return Perplexity.total(scores.nll_sum, scores.scored).perplexity


@WARM
@given(documents, st.integers(1, 9), st.integers(1, 9), st.integers(0, 12), st.sampled_from([-1, 0, 7, V]))
def test_neither_batch_size_nor_padding_matters(
    scorer: CheckpointScorer, rows: list[list[int]], one: int, other: int, padding: int, filler: int
):
    windows = _windows(rows, 12, 6)
    wanted = _perplexity(scorer, windows, one)
    assert _perplexity(scorer, windows, other) == pytest.approx(wanted, rel=1e-5)
    alone = AloneScorer(scorer, padding, filler)
    assert _perplexity(alone, windows) == pytest.approx(wanted, rel=1e-5)


@WARM
@given(st.lists(ids, min_size=3, max_size=16), st.integers(1, 8), st.data())
def test_padding_has_one_side_and_ids_in_front_are_context(
    scorer: CheckpointScorer, row: list[int], padding: int, data: st.DataObject
):
    """Behind a row's length anything may lie; the signature knows no padding in front.

    Positions count from a row's first id, so what stands in front is text: it is never scored, since
    `score_from` points behind it, but it is read.
    """
    front = data.draw(st.lists(ids, min_size=padding, max_size=padding))
    behind = data.draw(st.lists(ids, min_size=padding, max_size=padding))
    start = np.array([len(front) + 1], np.int32)
    length = np.array([len(front) + len(row)], np.int32)
    plain, scored = scorer.score(np.array([[*front, *row]], np.int32), length, start)
    padded, counted = scorer.score(np.array([[*front, *row, *behind]], np.int32), length, start)
    assert scored.tolist() == counted.tolist() == [len(row) - 1]
    assert padded == pytest.approx(plain, rel=1e-5)
    singly = sum(
        float(scorer.score(np.array([[*front, *row]], np.int32), np.array([t + 1]), np.array([t]))[0][0])
        for t in range(len(front) + 1, len(front) + len(row))
    )
    assert plain[0] == pytest.approx(singly, rel=1e-4)


@WARM
@given(documents, st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(
    scorer: CheckpointScorer, rows: list[list[int]], order: random.Random
):
    shuffled = order.sample(rows, len(rows))
    wanted = _perplexity(scorer, _windows(rows, 12, 12))
    assert _perplexity(scorer, _windows(shuffled, 12, 12)) == pytest.approx(wanted, rel=1e-5)


@WARM
@given(st.lists(ids, min_size=2, max_size=16))
def test_windows_as_long_as_the_text_give_the_text_s_own_perplexity(scorer: CheckpointScorer, row: list[int]):
    whole = [EvalWindow(tuple(row), 1, len(row), "d", "s", "up to 512 tokens")]
    wanted = _perplexity(scorer, whole)
    for stride in (1, len(row) // 2 or 1, len(row)):
        assert _perplexity(scorer, _windows([row], len(row), stride)) == pytest.approx(wanted, rel=1e-5)


@WARM
@given(st.lists(ids, min_size=6, max_size=20))
def test_with_a_stride_of_one_every_token_has_all_the_context_there_is(
    scorer: CheckpointScorer, row: list[int]
):
    context = 5
    windows = _windows([row], context, 1)
    singly = [
        EvalWindow(tuple(row[max(0, t + 1 - context) : t + 1]), min(t, context - 1), 1, "d", "s", "c")
        for t in range(1, len(row))
    ]
    assert sum(window.scored for window in windows) == len(singly)
    assert _perplexity(scorer, windows) == pytest.approx(_perplexity(scorer, singly), rel=1e-5)


@WARM
@given(documents, st.integers(2, 24), st.integers(1, 5))
def test_a_uniform_model_scores_the_vocabulary_size(
    uniform: CheckpointScorer, rows: list[list[int]], context: int, batch_size: int
):
    found = _perplexity(uniform, _windows(rows, context, max(1, context // 2)), batch_size)
    assert found == pytest.approx(V, rel=1e-5)


@WARM
@given(st.lists(st.sampled_from([0, 5]), min_size=2, max_size=20))
def test_id_0_is_a_token_like_any_other(uniform: CheckpointScorer, scorer: CheckpointScorer, row: list[int]):
    windows = _windows([row], 12, 6)
    assert sum(window.scored for window in windows) == len(row) - 1
    assert _perplexity(uniform, windows) == pytest.approx(V, rel=1e-5)
    ending = [*row, 0]
    longer = WindowScores.measure(scorer, _windows([ending], 32, 16), batch_size=1, progress=lambda _: None)
    shorter = WindowScores.measure(scorer, _windows([row], 32, 16), batch_size=1, progress=lambda _: None)
    assert longer.scored.sum() == shorter.scored.sum() + 1
    assert longer.nll_sum.sum() > shorter.nll_sum.sum()


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=8),
    st.integers(0, 7),
    st.sampled_from([math.nan, math.inf, -math.inf]),
)
def test_a_single_loss_that_is_not_finite_is_enough_not_to_be_blessed(
    losses: list[float], place: int, bad: float
):
    windows = _windows([[1, 2, 3]] * len(losses), 3, 3)
    scored = np.array([window.scored for window in windows])
    ours = np.array(losses)
    ours[place % len(ours)] = bad
    config = EvaluationConfig(bootstrap_samples=100)
    found = compare(windows, WindowScores(ours, scored), WindowScores(np.array(losses), scored), config)
    checks = judge(
        found.perplexity.value,
        found.baseline_perplexity.value,
        vocab_size=V,
        gate=GateConfig(max_ratio=1e9, max_fraction=1.0),
        baseline_label="b",
    )
    assert not verdict(checks).blessed
