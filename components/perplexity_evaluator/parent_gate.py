"""The gate's check of quantised weights against the float32 weights they were made of. Pure."""

from __future__ import annotations

import math

from components.perplexity_evaluator.check import ROUNDING, Check, Status
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.parent_comparison import PARENT_LABEL, ParentComparison
from monitoring.paired_comparison import Estimate

NAME = "gate.max_parent_ratio"
_ABOUT = f"Perplexity against the {PARENT_LABEL}"
_MORE_TEXT = (
    "Score more held-out tokens (`evaluation.num_tokens`), so that the interval gets narrower, or export "
    "weights that lose less."
)
_LESS_LOSS = {
    "int8": "Export with `export.dtype: bfloat16`, which loses less, or with float32",
    "bfloat16": "Export with `export.dtype: float32`",
}


def judge_parent(parent: ParentComparison, gate: GateConfig) -> Check:
    """Hold a quantised package against its parent.

    Args:
        parent: both models on the same windows, the package's perplexity being a finite number.
        gate: the limit, and what follows if the ratio is within it but may be so by chance.
    """
    found, limit = parent.comparison, gate.max_parent_ratio
    ratio = found.ratio
    if not math.isfinite(ratio.value) or ratio.value <= 0:
        sentence = (
            f"The perplexity of the {PARENT_LABEL} is {found.baseline_perplexity.value}: what the "
            f"{parent.dtype} weights lose cannot be told ({NAME})."
        )
        step = "Check that the checkpoint's weights are finite: `tokenmill evaluate --checkpoint DIR`."
        return Check(NAME, _ABOUT, "failed", sentence, ratio.value, limit, step)
    status, verdict = _judged(ratio, gate)
    sentence = (
        f"With {parent.dtype} weights perplexity is {found.perplexity.value:.3f}, {ratio.value:.4f} × that "
        f"of the {PARENT_LABEL} ({found.baseline_perplexity.value:.3f}){_interval(ratio)}{verdict}"
    )
    return Check(
        NAME, _ABOUT, status, sentence, ratio.value, limit, _step(status, ratio, parent.dtype, limit)
    )


def _judged(ratio: Estimate, gate: GateConfig) -> tuple[Status, str]:
    limit = gate.max_parent_ratio
    if ratio.value > limit * (1 + ROUNDING):
        return "failed", f"; at most {limit:.4f} × is allowed ({NAME})."
    within = f", within {NAME} {limit:.4f}"
    if gate.chance == "off" or not ratio.high > limit * (1 + ROUNDING):
        return "passed", f"{within}."
    status: Status = "failed" if gate.chance == "fail" else "warning"
    return status, f"{within}, but that may be chance: the interval reaches above it (gate.chance)."


def _interval(ratio: Estimate) -> str:
    return f", interval {ratio.low:.4f} to {ratio.high:.4f}" if math.isfinite(ratio.low) else ""


def _step(status: Status, ratio: Estimate, dtype: str, limit: float) -> str:
    if status == "passed":
        return ""
    if ratio.value <= limit * (1 + ROUNDING):
        return _MORE_TEXT
    return f"{_LESS_LOSS.get(dtype, _LESS_LOSS['bfloat16'])}; or allow more with `{NAME}`."
