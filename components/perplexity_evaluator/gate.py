"""The gate: from two perplexities to a verdict with its reasons. Pure."""

from __future__ import annotations

import math

from components.blessing import Blessing
from components.perplexity_evaluator.gate_config import GateConfig

ROUNDING = 1e-6
"""Relative; the same weights scored by two kernels may differ by this much, which is no regression."""


def judge(
    candidate: float, baseline: float, *, vocab_size: int, gate: GateConfig, baseline_label: str
) -> Blessing:
    """Judge a candidate: finite, below the absolute ceiling, and not worse than the baseline.

    Args:
        candidate: its perplexity on the held-out windows.
        baseline: the baseline's on the same windows.
        vocab_size: a model that knows nothing has this perplexity.
        gate: the limits.
        baseline_label: what to call the baseline in the reasons.

    Returns:
        The verdict; not blessed as soon as one limit fails, with every failed limit as a reason.
    """
    if not math.isfinite(candidate):
        return Blessing(
            False, (f"The candidate's perplexity is {candidate}: it predicts NaN or infinite losses.",)
        )
    failed = []
    ceiling = gate.max_fraction * vocab_size
    if candidate > ceiling:
        failed.append(
            f"Perplexity {candidate:.3f} is above the absolute ceiling {ceiling:.1f} "
            f"(gate.max_fraction {gate.max_fraction:g} × vocabulary size {vocab_size})."
        )
    if not math.isfinite(baseline):
        failed.append(f"The {baseline_label} has perplexity {baseline}: there is nothing to compare with.")
    elif candidate > gate.max_ratio * baseline * (1 + ROUNDING):
        failed.append(
            f"Perplexity {candidate:.3f} is {candidate / baseline:.4f} × that of the {baseline_label} "
            f"({baseline:.3f}); at most {gate.max_ratio:.4f} × is allowed (gate.max_ratio)."
        )
    if failed:
        return Blessing(False, tuple(failed))
    return Blessing(
        True,
        (
            f"Perplexity {candidate:.3f} is {candidate / baseline:.4f} × that of the {baseline_label} "
            f"({baseline:.3f}), within gate.max_ratio {gate.max_ratio:.4f}.",
            f"It is below the absolute ceiling {ceiling:.1f}.",
        ),
    )
