"""WindowScores: what one model scored on the windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from components.perplexity_evaluator.eval_window import EvalWindow
from models.contract.errors import EngineError
from models.scoring import Scorer


@dataclass(frozen=True, slots=True)
class WindowScores:
    """Sums per window.

    Args:
        nll_sum: float64 [W], nats.
        scored: int64 [W], tokens.
    """

    nll_sum: npt.NDArray[np.float64]
    scored: npt.NDArray[np.int64]

    @classmethod
    def measure(
        cls,
        scorer: Scorer,
        windows: Sequence[EvalWindow],
        *,
        batch_size: int,
        progress: Callable[[int], None],
    ) -> WindowScores:
        """Score windows in batches of similar length.

        Args:
            scorer: the model.
            windows: all of them.
            batch_size: windows per call.
            progress: told how many windows are done.

        Raises:
            EngineError: the model scored another number of tokens than it was asked to.
        """
        nll_sum = np.zeros(len(windows), np.float64)
        order = sorted(range(len(windows)), key=lambda i: len(windows[i].ids), reverse=True)
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            nll_sum[rows] = _score(scorer, [windows[i] for i in rows])
            progress(min(start + batch_size, len(order)))
        return cls(nll_sum, np.array([window.scored for window in windows], np.int64))

    def rows(self, rows: Sequence[int]) -> WindowScores:
        """The scores of some windows."""
        return WindowScores(self.nll_sum[rows], self.scored[rows])


def _score(scorer: Scorer, rows: Sequence[EvalWindow]) -> npt.NDArray[np.float64]:
    lengths = np.array([len(row.ids) for row in rows], np.int32)
    ids = np.zeros((len(rows), int(lengths.max())), np.int32)
    for i, row in enumerate(rows):
        ids[i, : lengths[i]] = row.ids
    score_from = np.array([row.score_from for row in rows], np.int32)
    nll_sum, scored = scorer.score(ids, lengths, score_from)
    wanted = [row.scored for row in rows]
    if np.asarray(scored).tolist() != wanted:
        raise EngineError(f"the model scored {np.asarray(scored).tolist()} tokens, asked were {wanted}.")
    return np.asarray(nll_sum, np.float64)
