"""The gate: from what was measured to checks, each with its sentence and next step. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from components.blessing import Blessing
from components.perplexity_evaluator.check import ROUNDING, Check, Status
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.parent_comparison import ParentComparison
from components.perplexity_evaluator.parent_gate import NAME as PARENT_RATIO
from components.perplexity_evaluator.parent_gate import judge_parent
from components.perplexity_evaluator.slice_comparison import SliceComparison
from components.perplexity_evaluator.slice_gate import judge_slices
from components.perplexity_evaluator.text_gate import judge_texts
from monitoring.paired_comparison import Estimate
from monitoring.text_checks import TextFigures

_ABOUT_RATIO = "Perplexity against the baseline"
_ABOUT_CEILING = "Perplexity against knowing nothing"
_MAIN = ("gate.max_ratio", "gate.max_fraction", PARENT_RATIO)
"""Checks that are reasons for a blessing."""

_MORE_TRAINING = (
    "Train longer or on more text like what is held out (`training.tokens`, `corpus.sources`), or with "
    "another `training.learning_rate`; the loss curve tells which."
)

_MORE_TEXT = (
    "Hold out more documents (`corpus.eval_fraction`, more text in the corpus) or score more of them "
    "(`evaluation.num_tokens`), so that the interval gets narrower; or train longer for a larger gain."
)


def judge(
    candidate: float,
    baseline: float,
    *,
    vocab_size: int,
    gate: GateConfig,
    baseline_label: str,
    ratio: Estimate | None = None,
    itself: bool = False,
    slices: Sequence[SliceComparison] = (),
    texts: tuple[TextFigures, TextFigures] | None = None,
    parent: ParentComparison | None = None,
) -> tuple[Check, ...]:
    """Hold a candidate against every limit.

    Args:
        candidate: its perplexity on the held-out windows.
        baseline: the baseline's on the same windows.
        vocab_size: a model that knows nothing has this perplexity.
        gate: the limits.
        baseline_label: what to call the baseline in the sentences.
        ratio: the first over the second with its interval; None leaves out whether a gain may be chance.
        itself: whether the baseline is the candidate, pushed by an earlier run.
        slices: both models on every part of the text.
        texts: figures of the candidate's and the baseline's completions, if there are any.
        parent: of a quantised candidate, what it was made of; None for float32 weights.
    """
    if not _is_measured(candidate):
        return (_not_finite(candidate),)
    against = _against_baseline(candidate, baseline, gate, baseline_label)
    checks = [
        _against_itself(against, baseline_label) if itself else against,
        _against_ceiling(candidate, vocab_size, gate),
    ]
    if parent is not None:
        checks.append(judge_parent(parent, gate))
    if gate.chance != "off" and ratio is not None and against.status == "passed" and not itself:
        checks.append(_against_chance(ratio, gate, baseline_label))
    if gate.slices.action != "off":
        checks += judge_slices(slices, gate.slices, gate.max_ratio, baseline_label)
    if gate.texts.action != "off" and texts is not None:
        checks += judge_texts(*texts, gate.texts, baseline_label)
    return tuple(checks)


def verdict(checks: Sequence[Check]) -> Blessing:
    """Blessed unless a check failed; the reasons are the failed ones, or the main ones that passed.

    Warnings follow in either case.
    """
    failed = [check.sentence for check in checks if check.status == "failed"]
    main = [check.sentence for check in checks if check.status == "passed" and check.name in _MAIN]
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


def _against_itself(check: Check, label: str) -> Check:
    sentence = f"The {label}, the baseline, is this very package: it can only be as good as itself."
    step = (
        f"Nothing new was trained: the {label} holds the same weights. Change the training or the corpus to "
        "get another model; limits below 1 ask for a better one."
    )
    failed = check.status == "failed"
    return replace(check, sentence=f"{sentence} {check.sentence}", next_step=step if failed else "")


def _against_chance(ratio: Estimate, gate: GateConfig, label: str) -> Check:
    """Whether what passed, a gain or staying within the limit, would pass on other text of the kind too."""
    gain = ratio.value <= min(1.0, gate.max_ratio)
    limit = min(1.0, gate.max_ratio) if gain else gate.max_ratio
    about, name = "More than chance", "gate.chance"
    if math.isfinite(ratio.high) and ratio.high <= limit * (1 + ROUNDING):
        sentence = (
            f"{'The gain' if gain else 'Staying within the limit'} is more than chance: the interval ends at "
            f"{ratio.high:.4f} × the perplexity of the {label}."
        )
        return Check(name, about, "passed", sentence, ratio.high, limit)
    if math.isfinite(ratio.high):
        sentence = (
            f"The {'gain' if gain else 'result'} may be chance: {ratio.low:.4f} to {ratio.high:.4f} × the "
            f"perplexity of the {label}, which reaches above {limit:.4f} ({name})."
        )
    else:
        sentence = (
            f"Whether the {'gain' if gain else 'result'} is chance cannot be told: it has no interval, which "
            f"takes two held-out documents or more ({name})."
        )
    status: Status = "failed" if gate.chance == "fail" else "warning"
    return Check(name, about, status, sentence, ratio.high, limit, _MORE_TEXT)


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
