"""The report's headline: what became of the model, why, and what to do next, in words."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from components.reporter.release_place import release_place
from components.reporter.wording import percent, signed_percent

PUSHED, UNCHANGED, NOT_PUSHED, NOT_BLESSED = "pushed", "unchanged", "not pushed", "not blessed"
_SERVING_STEP = (
    "The package does not answer as the trained network does: read the serving check's reason, export again "
    "and, if it stays, report it with the run's log."
)


def report_verdict(
    model: str,
    evaluation: dict[str, Any],
    blessing: dict[str, Any],
    serving: dict[str, Any],
    pushed: dict[str, Any],
) -> dict[str, Any]:
    """State, headline, reasons and next steps.

    Args:
        model: name of the model.
        evaluation: `results.json`, or empty.
        blessing: the evaluator's verdict as stored, or empty.
        serving: the serving validator's verdict as stored, or empty.
        pushed: custom properties of the Pusher's artifact.
    """
    good = blessing.get("blessed") is True and serving.get("blessed", True) is True
    state = _state(good, pushed)
    return {
        "state": state,
        "blessed": good,
        "title": _title(state, pushed),
        "headline": headline(evaluation),
        "reasons": [*map(str, blessing.get("reasons", [])), *map(str, serving.get("reasons", []))],
        "next_steps": [
            *_after(state, model, pushed),
            *evaluation.get("next_steps", []),
            *([_SERVING_STEP] if serving.get("blessed") is False else []),
        ],
    }


def headline(evaluation: dict[str, Any]) -> str:
    """One sentence on the change of perplexity; "" where nothing was measured."""
    ratio, perplexity = evaluation.get("ratio"), evaluation.get("perplexity")
    if not evaluation:
        return ""
    if ratio is None or perplexity is None:
        return "The losses are not finite numbers: the model cannot be judged."
    change = percent(abs(ratio - 1), 1)
    against = evaluation.get("baseline", "baseline")
    direction = "the same as" if change == "0.0%" else f"{change} {'below' if ratio < 1 else 'above'}"
    sentence = (
        f"Perplexity {perplexity:.3f} on {evaluation.get('scored', 0):,} held-out tokens, {direction} the "
        f"{against}"
    )
    interval = evaluation.get("interval")
    if interval and change != "0.0%":
        low, high = (signed_percent(end, 1) for end in interval)
        sentence += f" ({percent(evaluation.get('confidence', 0.95))} interval {low} to {high})"
        if interval[0] <= 1 <= interval[1]:
            sentence += "; that may be chance"
    return f"{sentence}.{_about_stable(evaluation)}"


def _about_stable(evaluation: dict[str, Any]) -> str:
    """What serves now, where that is not what the model was compared with."""
    stable = evaluation.get("stable_version")
    if stable is None or stable == evaluation.get("baseline_version"):
        return ""
    return f" The stable version is {stable}, with which it was not compared."


def _state(good: bool, pushed: dict[str, Any]) -> str:
    if pushed.get("pushed") == 1:
        return PUSHED if pushed.get("new", 1) else UNCHANGED
    return NOT_PUSHED if good else NOT_BLESSED


def _title(state: str, pushed: dict[str, Any]) -> str:
    number = pushed.get("pushed_version", "")
    return {
        PUSHED: f"Blessed and pushed as version {number}",
        UNCHANGED: f"Blessed; the same package is version {number} already",
        NOT_PUSHED: "Blessed, but not pushed",
        NOT_BLESSED: "Not blessed, and nothing was pushed",
    }[state]


def _after(state: str, model: str, pushed: dict[str, Any]) -> list[str]:
    number, path = pushed.get("pushed_version", ""), pushed.get("pushed_destination", "")
    if state == NOT_BLESSED:
        return []
    if state == NOT_PUSHED:
        return ["Push it by hand once you have looked at it: `tokenmill push PACKAGE`."]
    try_it = f'Try it: `tokenmill generate --package {shlex.quote(path)} "…"`.'
    if pushed.get("label") == "stable":
        return [try_it, f"It is the stable version: `tokenmill serve {shlex.quote(path)}` serves it."]
    name = release_place(Path(path)) if path else shlex.quote(model)
    canary = f"`tokenmill canary {name} --version {number} --weight 0.1`"
    after = f"then `tokenmill promote {name}`, or `tokenmill rollback {name}` to take it back"
    return [try_it, f"Give it a tenth of the traffic with {canary}; {after}."]
