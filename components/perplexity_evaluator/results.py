"""The evaluation's results as plain values: what `results.json` holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from components.baseline.baseline import Baseline
from components.blessing import Blessing
from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.window_scores import WindowScores
from monitoring.perplexity import Interval, Perplexity, by_slice, paired_interval

_SLICES = ("source", "length_class")


def totals(
    windows: Sequence[EvalWindow], candidate: WindowScores, baseline: WindowScores
) -> tuple[Perplexity, Perplexity]:
    """Perplexity of candidate and baseline over all windows."""
    num_bytes = [window.scored_bytes for window in windows]
    return (
        Perplexity.total(candidate.nll_sum, candidate.scored, num_bytes),
        Perplexity.total(baseline.nll_sum, baseline.scored, num_bytes),
    )


def interval_of(
    windows: Sequence[EvalWindow], candidate: WindowScores, baseline: WindowScores, config: EvaluationConfig
) -> Interval:
    """Paired interval of the ratio; whole documents are drawn, if there are several."""
    units = [window.document for window in windows]
    return paired_interval(
        candidate.nll_sum,
        baseline.nll_sum,
        candidate.scored,
        units=units if len(set(units)) > 1 else None,
        samples=config.bootstrap_samples,
        confidence=config.confidence,
        seed=config.seed,
    )


def results_json(
    windows: Sequence[EvalWindow],
    candidate: WindowScores,
    baseline: WindowScores,
    *,
    config: EvaluationConfig,
    against: Baseline,
    verdict: Blessing,
    add_bos: bool,
) -> dict[str, Any]:
    """Everything worth keeping of an evaluation; figures that are not finite are None.

    `interval` is that of `ratio`, the candidate's perplexity over the baseline's.
    """
    ours, theirs = totals(windows, candidate, baseline)
    interval = interval_of(windows, candidate, baseline, config)
    return {
        "blessed": verdict.blessed,
        "reasons": list(verdict.reasons),
        "perplexity": _finite(ours.perplexity),
        "baseline_perplexity": _finite(theirs.perplexity),
        "ratio": _finite(interval.ratio),
        "interval": [interval.low, interval.high] if math.isfinite(interval.low) else None,
        "confidence": config.confidence,
        "bits_per_byte": _finite(ours.bits_per_byte),
        "baseline_bits_per_byte": _finite(theirs.bits_per_byte),
        "nll_sum": _finite(ours.nll_sum),
        "baseline_nll_sum": _finite(theirs.nll_sum),
        "scored": ours.scored,
        "bytes": ours.num_bytes,
        "windows": len(windows),
        "documents": len({window.document for window in windows}),
        "context": config.context,
        "stride": config.effective_stride,
        "add_bos": add_bos,
        "baseline": against.label,
        "baseline_path": against.path,
        "baseline_run_id": against.run_id,
        "baseline_reason": against.reason,
        "slices": [entry for by in _SLICES for entry in _slices(by, windows, candidate, baseline)],
    }


def _slices(
    by: str, windows: Sequence[EvalWindow], candidate: WindowScores, baseline: WindowScores
) -> list[dict[str, Any]]:
    keys = [str(getattr(window, by)) for window in windows]
    ours = by_slice(keys, candidate.nll_sum, candidate.scored)
    theirs = by_slice(keys, baseline.nll_sum, baseline.scored)
    return [
        {
            "by": by,
            "slice": key,
            "scored": ours[key].scored,
            "perplexity": _finite(ours[key].perplexity),
            "baseline_perplexity": _finite(theirs[key].perplexity),
        }
        for key in sorted(ours)
    ]


def _finite(value: float) -> float | None:
    """The value, or None where JSON has no word for it (NaN, infinities)."""
    return value if math.isfinite(value) else None
