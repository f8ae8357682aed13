"""The page's contents, shaped for the template: everything formatted, nothing escaped. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from components.reporter.data_tables import data_tables
from components.reporter.figures import comparison_figure, loss_figure, pace_figure, slices_figure
from components.reporter.text_difference import differences
from components.reporter.wording import duration, number, percent, signed_percent, span

_TONES = {"pushed": "good", "unchanged": "good", "not pushed": "warn", "not blessed": "bad"}
_CHECK_TONES = {"passed": "good", "failed": "bad", "warning": "warn", "not judged": "faint"}
_ORDER = ("failed", "warning", "passed", "not judged")
_MARKS = {"passed": "✓", "failed": "✗", "warning": "!", "not judged": "–"}


class Tile(NamedTuple):
    """A figure worth a glance: what it is, its value, lines under it, and how good it is."""

    label: str
    value: str
    notes: tuple[str, ...] = ()
    tone: str = ""


def page_view(report: Mapping[str, Any]) -> dict[str, Any]:
    """Contents of the page; sections without data are empty.

    Args:
        report: as made by `report_data`.
    """
    evaluation = report.get("evaluation") or {}
    training = report.get("training") or {}
    verdict = report.get("verdict") or {}
    return {
        "report": report,
        "verdict": {**verdict, "tone": _TONES.get(verdict.get("state", ""), "bad")},
        "tiles": [*_figures(evaluation), *_training_tiles(training), *_data_tiles(report.get("data") or {})],
        "checks": _checks(evaluation.get("checks") or [], report.get("serving")),
        "charts": _charts(evaluation, training),
        "evaluation": evaluation,
        "slices": [_slice(one) for one in evaluation.get("slices") or []],
        "samples": [_sample(one) for one in evaluation.get("samples") or []],
        "texts": _texts(evaluation.get("texts")),
        "training": _training_facts(training),
        "data": data_tables(report.get("data") or {}),
        "lineage": _lineage(report),
        "artifacts": (report.get("lineage") or {}).get("artifacts") or [],
    }


def _figures(evaluation: Mapping[str, Any]) -> list[Tile]:
    if not evaluation:
        return []
    intervals = evaluation.get("intervals") or {}
    tiles = []
    for name, label, change in (
        ("perplexity", "Perplexity", signed_percent(evaluation.get("ratio"))),
        ("bits_per_byte", "Bits per byte", number(evaluation.get("bits_per_byte_change"), signed=True)),
    ):
        before, after = evaluation.get(f"baseline_{name}"), evaluation.get(name)
        notes = [f"{number(before)} before, {change}"]
        if interval := intervals.get(name):
            notes.append(f"{percent(evaluation.get('confidence'))} interval {span(interval)}")
        tiles.append(Tile(label, number(after), tuple(notes), _direction(after, intervals.get("ratio"))))
    return tiles


def _direction(after: float | None, ratio: Sequence[float] | None) -> str:
    """Good or bad only where the change is more than chance."""
    if after is None:
        return "bad"
    if ratio is None or ratio[0] <= 1 <= ratio[1]:
        return ""
    return "good" if ratio[1] < 1 else "bad"


def _training_tiles(training: Mapping[str, Any]) -> list[Tile]:
    if not training:
        return []
    note = f"{duration(training.get('seconds'))}, {number(training.get('tokens_per_second'), 0)} tokens/s"
    return [Tile("Tokens trained on", number(training.get("tokens"), 0), (note,))]


def _data_tiles(data: Mapping[str, Any]) -> list[Tile]:
    splits = data.get("splits")
    if not isinstance(splits, Mapping) or not splits:
        return []
    counts = {name: part.get("documents", 0) for name, part in splits.items() if isinstance(part, Mapping)}
    notes = [", ".join(f"{number(count, 0)} {name}" for name, count in counts.items())]
    lost = data.get("left_out")
    if isinstance(lost, Mapping):
        kinds = [
            part for part in lost.values() if isinstance(part, Mapping) and part.get("action") != "report"
        ]
        notes.append(f"{number(sum(int(part.get('count', 0)) for part in kinds), 0)} left out")
    return [Tile("Documents", number(sum(counts.values()), 0), tuple(notes))]


def _checks(checks: Sequence[Mapping[str, Any]], serving: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    rows = [
        _check(check["about"], check["status"], check["sentence"])
        for check in checks
        if not check.get("slice") or check["status"] in ("failed", "warning")
    ]
    rows += _slices_check([check for check in checks if check.get("slice")])
    if serving:
        status = "passed" if serving.get("blessed") else "failed"
        rows.append(_check("Serving check", status, " ".join(map(str, serving.get("reasons") or []))))
    return sorted(rows, key=lambda row: _ORDER.index(row["status"]))


def _slices_check(checks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for the slices that neither failed nor warn; those have rows of their own."""
    counts = Counter(check["status"] for check in checks)
    passed, unjudged = counts["passed"], counts["not judged"]
    if not passed and not unjudged:
        return []
    judged = len(checks) - unjudged
    parts = [f"{judged} judged, {passed} of them within their limit" if judged else "none judged"]
    if unjudged:
        parts.append(f"{unjudged} too small to judge")
    status = "passed" if passed and not unjudged else "not judged"
    return [_check("Slices", status, f"{len(checks)} slices: {'; '.join(parts)}.")]


def _check(about: str, status: str, sentence: str) -> dict[str, Any]:
    return {
        "about": about,
        "status": status,
        "sentence": sentence,
        "tone": _CHECK_TONES.get(status, "faint"),
        "mark": _MARKS.get(status, "–"),
    }


def _charts(evaluation: Mapping[str, Any], training: Mapping[str, Any]) -> dict[str, Any]:
    figures = {
        "comparison": comparison_figure(evaluation),
        "slices": slices_figure(evaluation.get("slices") or [], evaluation),
        "loss": loss_figure(training),
        "pace": pace_figure(training),
    }
    return {name: figure for name, figure in figures.items() if figure is not None}


def _slice(one: Mapping[str, Any]) -> dict[str, Any]:
    intervals = one.get("intervals") or {}
    status = one.get("status") or "not judged"
    return {
        "by": str(one.get("by", "")).replace("_", " "),
        "name": one.get("slice", ""),
        "documents": number(one.get("documents"), 0),
        "scored": number(one.get("scored"), 0),
        "before": number(one.get("baseline_perplexity")),
        "after": number(one.get("perplexity")),
        "change": signed_percent(one.get("ratio")),
        "interval": _change_span(intervals.get("ratio")),
        "bits": number(one.get("bits_per_byte")),
        "status": "too small to judge" if status == "not judged" else status,
        "tone": _CHECK_TONES.get(status, "faint"),
    }


def _change_span(interval: Sequence[float] | None) -> str:
    return f"{signed_percent(interval[0])} to {signed_percent(interval[1])}" if interval else "–"


def _sample(one: Mapping[str, Any]) -> dict[str, Any]:
    before, after = one["baseline"], one["candidate"]
    first, second = differences(before["text"], after["text"])
    return {
        **one,
        "same": before["text"] == after["text"],
        "sides": [("Before", "before", before, first), ("After", "after", after, second)],
    }


def _texts(texts: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if not texts:
        return []
    before, after = texts["baseline"], texts["candidate"]
    rows = (
        ("Repeated 4-grams", "repeated", percent),
        ("Distinct 2-grams", "distinct", percent),
        ("Mean length, tokens", "mean_length", lambda value: number(value, 1)),
        ("Empty", "empty", percent),
    )
    return [(label, say(before.get(key)), say(after.get(key))) for label, key, say in rows]


def _training_facts(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not training:
        return []
    facts = [
        ("method", str(training.get("method") or "full")),
        ("trainable share", percent(training.get("trainable_share"), 2)),
        ("steps", number(training.get("steps"), 0)),
        ("tokens", number(training.get("tokens"), 0)),
        ("passes over the corpus", number(training.get("passes_over_corpus"), 2)),
        ("steps without a label", number(training.get("steps_without_labels") or None, 0)),
        ("first loss", number(training.get("first_loss"))),
        ("final loss", number(training.get("final_loss"))),
        ("time", duration(training.get("seconds"))),
        ("speed", f"{number(training.get('tokens_per_second'), 0)} tokens/s"),
        ("resumed after steps", ", ".join(map(str, training.get("resumed_at") or []))),
        *_stop(training.get("stop")),
    ]
    return [(name, value) for name, value in facts if value not in ("", "–")]


def _stop(stop: Any) -> Iterable[tuple[str, str]]:
    if not isinstance(stop, Mapping):
        return [("stopped", str(stop))] if stop else []
    facts = [("stopped", str(stop.get("text") or stop.get("reason") or ""))]
    if stop.get("best_step") is not None:
        facts.append(("best step", number(stop["best_step"], 0)))
    return facts


def _lineage(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    lineage = report.get("lineage") or {}
    baseline, package, pushed = (lineage.get(key) or {} for key in ("baseline", "package", "pushed"))
    facts = [
        ("run", report.get("run_id")),
        ("pipeline", report.get("pipeline")),
        ("model", report.get("model")),
        ("baseline", baseline.get("reason")),
        ("baseline's path", baseline.get("path")),
        ("baseline's run", baseline.get("run_id")),
        ("baseline's content hash", baseline.get("fingerprint")),
        ("package's content hash", package.get("content_hash")),
        ("package's context", package.get("max_length")),
        ("pushed version", pushed.get("pushed_version")),
        ("pushed to", pushed.get("pushed_destination")),
        ("label", pushed.get("label")),
        ("written", report.get("created")),
        ("software", ", ".join(f"{name} {v}" for name, v in (lineage.get("software") or {}).items())),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "")]
