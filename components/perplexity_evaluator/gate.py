"""The gate: from what was measured to checks, each with its sentence and next step. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from components.blessing import Blessing
from components.perplexity_evaluator.check import Check, Status
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.slice_comparison import SliceComparison
from components.perplexity_evaluator.text_gate import judge_texts
from monitoring.text_checks import TextFigures

ROUNDING = 1e-6
"""Relative; the same weights scored by two kernels may differ by this much, which is no regression."""

_ABOUT_RATIO = "Perplexity against the baseline"
_ABOUT_CEILING = "Perplexity against knowing nothing"
_MORE_TRAINING = (
    "Train longer or on more text like what is held out (`training.tokens`, `corpus.sources`), or with "
    "another `training.learning_rate`; the loss curve tells which."
)


def judge(
    candidate: float,
    baseline: float,
    *,
    vocab_size: int,
    gate: GateConfig,
    baseline_label: str,
    slices: Sequence[SliceComparison] = (),
    texts: tuple[TextFigures, TextFigures] | None = None,
) -> tuple[Check, ...]:
    """Hold a candidate against every limit.

    Args:
        candidate: its perplexity on the held-out windows.
        baseline: the baseline's on the same windows.
        vocab_size: a model that knows nothing has this perplexity.
        gate: the limits.
        baseline_label: what to call the baseline in the sentences.
        slices: both models on every part of the text.
        texts: figures of the candidate's and the baseline's completions, if there are any.
    """
    if not _is_measured(candidate):
        return (_not_finite(candidate),)
    checks = [
        _against_baseline(candidate, baseline, gate, baseline_label),
        _against_ceiling(candidate, vocab_size, gate),
    ]
    if gate.slices.action != "off":
        checks += [_slice(one, gate, baseline_label) for one in slices]
        checks += _unmatched(slices, gate)
    if gate.texts.action != "off" and texts is not None:
        checks += judge_texts(*texts, gate.texts, baseline_label)
    return tuple(checks)


def verdict(checks: Sequence[Check]) -> Blessing:
    """Blessed unless a check failed; the reasons are the failed ones, or the main ones that passed.

    Warnings follow in either case.
    """
    failed = [check.sentence for check in checks if check.status == "failed"]
    passed = [check.sentence for check in checks if check.status == "passed" and not check.slice]
    main = passed[:2]
    warnings = [f"Warning: {check.sentence}" for check in checks if check.status == "warning"]
    return Blessing(not failed, (*(failed or main), *warnings))


def next_steps(checks: Sequence[Check]) -> list[str]:
    """What to do about what failed or warned, each step once, the failed ones first."""
    ranked = sorted(checks, key=lambda check: check.status != "failed")
    steps = [check.next_step for check in ranked if check.status in ("failed", "warning")]
    return list(dict.fromkeys(filter(None, steps)))


def _is_measured(perplexity: float) -> bool:
    """Whether its losses were finite: a loss of minus infinity makes a perplexity of zero."""
    return math.isfinite(perplexity) and perplexity > 0


def _not_finite(candidate: float) -> Check:
    return Check(
        "gate",
        "Losses are finite numbers",
        "failed",
        f"The candidate's perplexity is {candidate}: it predicts NaN or infinite losses.",
        candidate,
        next_step="Lower `training.learning_rate` or `training.clip_norm`, and check that the checkpoint's "
        "weights are finite: `tokenmill evaluate --checkpoint DIR --text FILE`.",
    )


def _against_baseline(candidate: float, baseline: float, gate: GateConfig, label: str) -> Check:
    limit = gate.max_ratio
    if not _is_measured(baseline):
        return Check(
            "gate.max_ratio",
            _ABOUT_RATIO,
            "failed",
            f"The {label} has perplexity {baseline}: there is nothing to compare with.",
            limit=limit,
            next_step=f"Replace the {label}: its weights are not finite.",
        )
    ratio = candidate / baseline
    if candidate > limit * baseline * (1 + ROUNDING):
        sentence = (
            f"Perplexity {candidate:.3f} is {ratio:.4f} × that of the {label} "
            f"({baseline:.3f}); at most {limit:.4f} × is allowed (gate.max_ratio)."
        )
        return Check("gate.max_ratio", _ABOUT_RATIO, "failed", sentence, ratio, limit, _MORE_TRAINING)
    sentence = (
        f"Perplexity {candidate:.3f} is {ratio:.4f} × that of the {label} "
        f"({baseline:.3f}), within gate.max_ratio {limit:.4f}."
    )
    return Check("gate.max_ratio", _ABOUT_RATIO, "passed", sentence, ratio, limit)


def _against_ceiling(candidate: float, vocab_size: int, gate: GateConfig) -> Check:
    ceiling = gate.max_fraction * vocab_size
    if candidate > ceiling:
        sentence = (
            f"Perplexity {candidate:.3f} is above the absolute ceiling {ceiling:.1f} "
            f"(gate.max_fraction {gate.max_fraction:g} × vocabulary size {vocab_size})."
        )
        step = (
            "The model hardly knows this text: start from a better checkpoint (`model.checkpoint`), check "
            "that the corpus is in its language, or train longer (`training.tokens`)."
        )
        return Check("gate.max_fraction", _ABOUT_CEILING, "failed", sentence, candidate, ceiling, step)
    sentence = f"It is below the absolute ceiling {ceiling:.1f}."
    return Check("gate.max_fraction", _ABOUT_CEILING, "passed", sentence, candidate, ceiling)


def _slice(one: SliceComparison, gate: GateConfig, label: str) -> Check:
    ratio, limit = one.comparison.ratio, gate.slices.limit(one.key, gate.max_ratio)
    status, sentence = _slice_verdict(one, gate, limit, label)
    step = ""
    if status in ("failed", "warning"):
        step = (
            f"Look at the slice {one.key}: add training text like it, raise the `weight` of its source, or "
            "allow more with `gate.slices.limits`."
        )
    return Check(
        "gate.slices", f"Slice {one.key}", status, sentence, ratio.value, limit, next_step=step, slice=one.key
    )


def _slice_verdict(one: SliceComparison, gate: GateConfig, limit: float, label: str) -> tuple[Status, str]:
    rules, ratio, scored = gate.slices, one.comparison.ratio, one.comparison.candidate.scored
    if one.documents < rules.min_documents or scored < rules.min_tokens:
        return "not judged", (
            f"Slice {one.key} is too small to judge: {_count(one.documents, 'document')} and "
            f"{_count(scored, 'token')}; {rules.min_documents} and {rules.min_tokens} are needed."
        )
    if not math.isfinite(ratio.value):
        return "not judged", f"Slice {one.key}: the {label} has no finite perplexity to compare with."
    figures = f"Slice {one.key} has {ratio.value:.4f} × the perplexity of the {label}"
    if ratio.value <= limit * (1 + ROUNDING):
        return "passed", f"{figures}; at most {limit:.4f} × is allowed (gate.slices)."
    figures += f" ({ratio.low:.4f} to {ratio.high:.4f}); at most {limit:.4f} × is allowed (gate.slices)"
    if ratio.low <= gate.max_ratio:
        return "warning", f"{figures}, but that may be chance."
    return ("failed" if rules.action == "fail" else "warning"), f"{figures}."


def _unmatched(slices: Sequence[SliceComparison], gate: GateConfig) -> Iterator[Check]:
    known = sorted({one.key for one in slices})
    for key, limit in gate.slices.limits.items():
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
