"""EvaluationOutcome: results and verdict of one evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from components.blessing import Blessing


@dataclass(frozen=True, slots=True)
class EvaluationOutcome:
    """What an evaluation found.

    Args:
        results: plain values for `results.json`.
        verdict: whether the candidate is blessed, and why.
    """

    results: dict[str, Any]
    verdict: Blessing
