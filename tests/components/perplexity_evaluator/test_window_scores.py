from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.score_store import ScoreStore
from components.perplexity_evaluator.window_scores import WindowScores
from models.contract.errors import EngineError

WINDOWS = [
    EvalWindow(tuple(range(1, n + 1)), score_from, 9, "d", "s", "up to 512 tokens")
    for n, score_from in ((5, 1), (9, 4), (2, 1), (9, 1), (7, 6))
]


class SumScorer:
    """Scores a window by the sum of its scored ids; counts its calls."""

    def __init__(self, lie: int = 0) -> None:
        self.calls = 0
        self._lie = lie

    def score(self, ids, lengths, score_from):
        self.calls += 1
        sums = [row[start:length].sum() for row, length, start in zip(ids, lengths, score_from, strict=True)]
        return np.array(sums, np.float32), lengths - score_from + self._lie


@pytest.mark.parametrize("batch_size", [1, 2, 3, 99])
def test_scores_keep_the_windows_order_whatever_the_batches(batch_size: int):
    seen: list[int] = []
    scores = WindowScores.measure(SumScorer(), WINDOWS, batch_size=batch_size, progress=seen.append)
    assert scores.nll_sum.tolist() == [sum(w.ids[w.score_from :]) for w in WINDOWS]
    assert scores.scored.tolist() == [4, 5, 1, 8, 1]
    assert seen[-1] == len(WINDOWS)


def test_a_model_that_scores_other_tokens_is_refused():
    with pytest.raises(EngineError, match="asked were"):
        WindowScores.measure(SumScorer(lie=1), WINDOWS, batch_size=2, progress=lambda done: None)


def test_stored_scores_meet_only_their_model_and_windows(tmp_path: Path):
    store = ScoreStore(tmp_path / "scores")
    scores = WindowScores(np.array([1.5, np.nan]), np.array([window.scored for window in WINDOWS[:2]]))
    store.put("model", WINDOWS[:2], scores)
    found = store.get("model", WINDOWS[:2])
    assert found is not None
    np.testing.assert_array_equal(found.nll_sum, scores.nll_sum)
    np.testing.assert_array_equal(found.scored, scores.scored)
    assert store.get("another", WINDOWS[:2]) is None
    assert store.get("model", WINDOWS[1:3]) is None


def test_a_store_without_a_folder_keeps_nothing():
    store = ScoreStore(None)
    store.put("model", WINDOWS, WindowScores(np.zeros(5), np.ones(5, np.int64)))
    assert store.get("model", WINDOWS) is None
