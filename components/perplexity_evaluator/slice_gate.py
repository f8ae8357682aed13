"""The gate's checks of slices: each against its own limit, and what is too small to judge. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from components.perplexity_evaluator.check import ROUNDING, Check, Status
from components.perplexity_evaluator.slice_comparison import SliceComparison
from components.perplexity_evaluator.slice_gate_config import SliceGateConfig

_CLEARLY = 1.5
"""How many times its limit a ratio without an interval must be to be worth a warning."""


def judge_slices(
    slices: Sequence[SliceComparison], rules: SliceGateConfig, overall: float, label: str
) -> list[Check]:
    """Hold every slice against its limit, and every limit against the slices there are.

    Args:
        slices: both models on every part of the text.
        rules: of the gate.
        overall: `gate.max_ratio`.
        label: what to call the baseline in the sentences.
    """
    checks = [_slice(one, rules, rules.limit(one.key, overall), label) for one in slices]
    return [*checks, *_unmatched(slices, rules)]


def _slice(one: SliceComparison, rules: SliceGateConfig, limit: float, label: str) -> Check:
    if _is_small(one, rules):
        status, sentence, step = _small(one, rules, limit, label)
    else:
        status, sentence = _judged(one, rules, limit, label)
        step = (
            f"Look at the slice {one.key}: add training text like it, raise the `weight` of its source, or "
            "allow more with `gate.slices.limits`."
        )
    return Check(
        "gate.slices",
        f"Slice {one.key}",
        status,
        sentence,
        one.comparison.ratio.value,
        limit,
        next_step=step if status in ("failed", "warning") else "",
        slice=one.key,
    )


def _is_small(one: SliceComparison, rules: SliceGateConfig) -> bool:
    return one.documents < rules.min_documents or one.comparison.candidate.scored < rules.min_tokens


def _judged(one: SliceComparison, rules: SliceGateConfig, limit: float, label: str) -> tuple[Status, str]:
    ratio = one.comparison.ratio
    if not math.isfinite(ratio.value):
        return "not judged", f"Slice {one.key}: the {label} has no finite perplexity to compare with."
    figures = f"Slice {one.key} has {ratio.value:.4f} × the perplexity of the {label}"
    if ratio.value <= limit * (1 + ROUNDING):
        return "passed", f"{figures}; at most {limit:.4f} × is allowed (gate.slices)."
    figures += f"{_interval(one)}; at most {limit:.4f} × is allowed (gate.slices)"
    if ratio.low <= limit * (1 + ROUNDING):
        return "warning", f"{figures}, but that may be chance."
    return ("failed" if rules.action == "fail" else "warning"), f"{figures}."


def _small(one: SliceComparison, rules: SliceGateConfig, limit: float, label: str) -> tuple[Status, str, str]:
    ratio = one.comparison.ratio
    size = (
        f"{_count(one.documents, 'document')} and {_count(one.comparison.candidate.scored, 'token')}; "
        f"{rules.min_documents} and {rules.min_tokens} are needed"
    )
    bad = ratio.low > limit if math.isfinite(ratio.low) else ratio.value > _CLEARLY * limit
    if not bad:
        return "not judged", f"Slice {one.key} is too small to judge: {size}.", ""
    sentence = (
        f"Slice {one.key} is too small to be judged ({size}), but it has {ratio.value:.4f} × the perplexity "
        f"of the {label}{_interval(one)}, far above the {limit:.4f} × that is allowed (gate.slices)."
    )
    step = (
        f"Hold out more of the slice {one.key} (more text of it in the corpus, `corpus.eval_fraction`, "
        "`evaluation.num_tokens`) so that it can be judged, or judge it as it is with "
        "`gate.slices.min_documents` and `gate.slices.min_tokens`."
    )
    return "warning", sentence, step


def _interval(one: SliceComparison) -> str:
    ratio = one.comparison.ratio
    return f" ({ratio.low:.4f} to {ratio.high:.4f})" if math.isfinite(ratio.low) else ""


def _unmatched(slices: Sequence[SliceComparison], rules: SliceGateConfig) -> Iterator[Check]:
    known = sorted({one.key for one in slices})
    for key, limit in rules.limits.items():
        if key not in known:
            yield Check(
                "gate.slices.limits",
                f"Slice {key}",
                "warning",
                f"gate.slices.limits names {key!r}, which no held-out text belongs to.",
                limit=limit,
                next_step=f"Name one of the slices: {', '.join(known)}.",
                slice=key,
            )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
