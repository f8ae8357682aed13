"""The gate's checks of completions: repetition, variety, length, emptiness. Pure."""

from __future__ import annotations

from components.perplexity_evaluator.check import Check, Status
from components.perplexity_evaluator.text_gate_config import TextGateConfig
from monitoring.text_checks import TextFigures

_LOOK = "Read the samples side by side; "
_LESS = (
    _LOOK + "train less or with a lower `training.learning_rate`, and look for repeated text in the corpus."
)
_ENDS = _LOOK + "check where training text ends (`training.document_end`) and how long its documents are."


def judge_texts(
    candidate: TextFigures, baseline: TextFigures, limits: TextGateConfig, baseline_label: str
) -> list[Check]:
    """Hold the candidate's completions against the limits; what cannot be told is said to be so.

    Args:
        candidate: figures of its completions.
        baseline: figures of the baseline's completions of the same prompts.
        limits: of the gate.
        baseline_label: what to call the baseline in the sentences.
    """
    if not candidate.completions:
        return []
    label = f"the {baseline_label}"
    return [
        _repetition(candidate, baseline, limits, label),
        _variety(candidate, baseline, limits, label),
        _length(candidate, baseline, limits, label),
        _emptiness(candidate, baseline, limits, label),
    ]


def _repetition(ours: TextFigures, theirs: TextFigures, limits: TextGateConfig, label: str) -> Check:
    name, about = "gate.texts.max_repetition_increase", "Repetition in completions"
    if ours.repeated is None or theirs.repeated is None:
        return _untold(name, about)
    limit = theirs.repeated + limits.max_repetition_increase
    sentence = (
        f"{ours.repeated:.0%} of the 4-grams in completions repeat an earlier one, {theirs.repeated:.0%} "
        f"with {label}; at most {min(limit, 1):.0%} is allowed ({name})."
    )
    return _check(name, about, ours.repeated <= limit, limits, sentence, (ours.repeated, limit), _LESS)


def _variety(ours: TextFigures, theirs: TextFigures, limits: TextGateConfig, label: str) -> Check:
    name, about = "gate.texts.min_distinct_ratio", "Variety of completions"
    if ours.distinct is None or theirs.distinct is None:
        return _untold(name, about)
    limit = theirs.distinct * limits.min_distinct_ratio
    sentence = (
        f"{ours.distinct:.0%} of the 2-grams in completions are different ones, {theirs.distinct:.0%} with "
        f"{label}; at least {limit:.0%} is asked for ({name})."
    )
    return _check(name, about, ours.distinct >= limit, limits, sentence, (ours.distinct, limit), _LESS)


def _length(ours: TextFigures, theirs: TextFigures, limits: TextGateConfig, label: str) -> Check:
    low, high = (share * theirs.mean_length for share in (limits.min_length_ratio, limits.max_length_ratio))
    short = ours.mean_length < low
    name = f"gate.texts.{'min' if short else 'max'}_length_ratio"
    sentence = (
        f"Completions have {ours.mean_length:.1f} tokens on average, {theirs.mean_length:.1f} with {label}; "
        f"{low:.1f} to {high:.1f} is allowed ({name})."
    )
    figures = (ours.mean_length, low if short else high)
    passed = not short and ours.mean_length <= high
    return _check(name, "Length of completions", passed, limits, sentence, figures, _ENDS)


def _emptiness(ours: TextFigures, theirs: TextFigures, limits: TextGateConfig, label: str) -> Check:
    name = "gate.texts.max_empty_share"
    sentence = (
        f"{ours.empty:.0%} of the completions are empty, {theirs.empty:.0%} with {label}; at most "
        f"{limits.max_empty_share:.0%} is allowed ({name})."
    )
    figures = (ours.empty, limits.max_empty_share)
    passed = ours.empty <= limits.max_empty_share
    return _check(name, "Empty completions", passed, limits, sentence, figures, _ENDS)


def _check(
    name: str,
    about: str,
    passed: bool,
    limits: TextGateConfig,
    sentence: str,
    figures: tuple[float, float],
    step: str,
) -> Check:
    missed: Status = "failed" if limits.action == "fail" else "warning"
    return Check(
        name, about, "passed" if passed else missed, sentence, *figures, next_step="" if passed else step
    )


def _untold(name: str, about: str) -> Check:
    sentence = f"{about} cannot be told: all completions of a model are too short."
    return Check(name, about, "not judged", sentence)
