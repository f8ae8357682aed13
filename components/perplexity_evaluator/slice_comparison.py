"""SliceComparison: candidate and baseline on one part of the held-out text."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.window_scores import WindowScores
from monitoring.paired_comparison import PairedComparison

_NO_SLICE = "document"
"""The one property of a window in words that slices nothing: each document would be a slice of its own."""


@dataclass(frozen=True, slots=True)
class SliceComparison:
    """One slice.

    Args:
        by: property of the windows, e.g. "source".
        value: its value here.
        comparison: figures of both models.
        documents: how many documents the slice has.
        windows: how many windows.
    """

    by: str
    value: str
    comparison: PairedComparison
    documents: int
    windows: int

    @property
    def key(self) -> str:
        """`<property>=<value>`, as in `gate.slices.limits`."""
        return f"{self.by}={self.value}"


def compare(
    windows: Sequence[EvalWindow], candidate: WindowScores, baseline: WindowScores, config: EvaluationConfig
) -> PairedComparison:
    """Both models on some windows; whole documents are drawn, and a single one has no interval."""
    return PairedComparison.measure(
        candidate.nll_sum,
        baseline.nll_sum,
        candidate.scored,
        [window.scored_bytes for window in windows],
        units=[window.document for window in windows],
        samples=config.bootstrap_samples,
        confidence=config.confidence,
        seed=config.seed,
    )


def compare_slices(
    windows: Sequence[EvalWindow], candidate: WindowScores, baseline: WindowScores, config: EvaluationConfig
) -> list[SliceComparison]:
    """Every slice by every property of the windows that is said in words, ordered by their names."""
    slices = []
    for by in slice_properties():
        rows = defaultdict(list)
        for row, window in enumerate(windows):
            rows[str(getattr(window, by))].append(row)
        for value in sorted(filter(None, rows)):
            part = [windows[row] for row in rows[value]]
            comparison = compare(part, candidate.rows(rows[value]), baseline.rows(rows[value]), config)
            documents = len({window.document for window in part})
            slices.append(SliceComparison(by, value, comparison, documents, len(part)))
    return slices


def slice_properties() -> list[str]:
    """Properties of a window that are strings, in their order."""
    return [
        field.name
        for field in dataclasses.fields(EvalWindow)
        if field.type == "str" and field.name != _NO_SLICE
    ]
