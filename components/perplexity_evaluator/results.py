"""The evaluation's results as plain values: what `results.json` holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from components.baseline.baseline import Baseline
from components.blessing import Blessing
from components.perplexity_evaluator.check import Check
from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.gate import next_steps
from components.perplexity_evaluator.parent_comparison import PARENT_LABEL, ParentComparison
from components.perplexity_evaluator.samples import Samples
from components.perplexity_evaluator.slice_comparison import SliceComparison
from monitoring.paired_comparison import Estimate, PairedComparison

_ESTIMATES = (
    "perplexity",
    "baseline_perplexity",
    "ratio",
    "bits_per_byte",
    "baseline_bits_per_byte",
    "bits_per_byte_change",
)


def results_json(
    windows: Sequence[EvalWindow],
    overall: PairedComparison,
    slices: Sequence[SliceComparison],
    *,
    config: EvaluationConfig,
    against: Baseline,
    checks: Sequence[Check],
    verdict: Blessing,
    samples: Samples | None,
    add_bos: bool,
    parent: ParentComparison | None = None,
) -> dict[str, Any]:
    """Everything worth keeping of an evaluation; figures that are not finite are None.

    `interval` is that of `ratio`, the candidate's perplexity over the baseline's; `intervals` holds
    those of all figures. `parent` holds the comparison of a quantised candidate with the float32 weights
    it was made of, the latter as the baseline; None for a candidate of float32 weights.
    """
    figures = estimates_json(overall)
    return {
        "blessed": verdict.blessed,
        "reasons": list(verdict.reasons),
        "checks": [check.to_json() for check in checks],
        "next_steps": next_steps(checks),
        **figures,
        "interval": figures["intervals"]["ratio"],
        "confidence": config.confidence,
        "nll_sum": finite(overall.candidate.nll_sum),
        "baseline_nll_sum": finite(overall.baseline.nll_sum),
        "scored": overall.candidate.scored,
        "bytes": overall.candidate.num_bytes,
        "windows": len(windows),
        "documents": len({window.document for window in windows}),
        "context": config.context,
        "stride": config.effective_stride,
        "add_bos": add_bos,
        "baseline": against.label,
        "baseline_path": against.path,
        "baseline_version": against.version,
        "stable_version": against.stable,
        "baseline_run_id": against.run_id,
        "baseline_reason": against.reason,
        "parent": None if parent is None else parent_json(parent),
        "slices": [_slice(one, checks) for one in slices],
        **_samples(samples),
    }


def estimates_json(comparison: PairedComparison) -> dict[str, Any]:
    """The six figures by name, and under `intervals` their intervals, None where there is none."""
    estimates: dict[str, Estimate] = {name: getattr(comparison, name) for name in _ESTIMATES}
    return {
        **{name: finite(estimate.value) for name, estimate in estimates.items()},
        "intervals": {name: _interval(estimate) for name, estimate in estimates.items()},
    }


def parent_json(parent: ParentComparison) -> dict[str, Any]:
    """The comparison with the parent, whose figures are called the baseline's."""
    figures = estimates_json(parent.comparison)
    return {"dtype": parent.dtype, "baseline": PARENT_LABEL, "baseline_path": parent.path, **figures}


def finite(value: float) -> float | None:
    """The value, or None where JSON has no word for it (NaN, infinities)."""
    return value if math.isfinite(value) else None


def _interval(estimate: Estimate) -> list[float] | None:
    return [estimate.low, estimate.high] if math.isfinite(estimate.low) else None


def _slice(one: SliceComparison, checks: Sequence[Check]) -> dict[str, Any]:
    found = next((check for check in checks if check.slice == one.key), None)
    return {
        "by": one.by,
        "slice": one.value,
        "documents": one.documents,
        "windows": one.windows,
        "scored": one.comparison.candidate.scored,
        "bytes": one.comparison.candidate.num_bytes,
        **estimates_json(one.comparison),
        "status": found.status if found else "not judged",
        "limit": found.limit if found else None,
    }


def _samples(samples: Samples | None) -> dict[str, Any]:
    if samples is None:
        return {"samples": [], "texts": None}
    ours, theirs = samples.figures
    return {"samples": samples.to_json(), "texts": {"candidate": asdict(ours), "baseline": asdict(theirs)}}
