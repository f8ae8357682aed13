"""What a run's artifacts say: evaluation, verdicts, push. Missing or unreadable files are passed over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.blessing import MESSAGE_PROPERTY, REASONS_FILE
from components.perplexity_evaluator.result_files import RESULTS_FILE
from components.reporter.file_names import PAGE_FILE
from pipeline.component_run import ComponentRun

Components = Sequence[ComponentRun]


def output(components: Components, component: str, key: str) -> tuple[Path | None, dict[str, Any]]:
    """Folder and custom properties of a component's output; (None, {}) without one."""
    for run in components:
        if run.id == component and key in run.outputs:
            return Path(run.outputs[key]), run.properties[key]
    return None, {}


def output_json(components: Components, component: str, key: str, file: str) -> dict[str, Any]:
    """A JSON file in a component's output; empty without one."""
    folder, _ = output(components, component, key)
    return _read_json(folder / file) if folder else {}


def evaluation(components: Components) -> dict[str, Any]:
    """The evaluation's main figures, by the names of RunRecord's fields."""
    results = output_json(components, "PerplexityEvaluator", "evaluation", RESULTS_FILE)
    if not results:
        # The files may have been moved or removed; the main figures are in ML Metadata as well.
        _, properties = output(components, "PerplexityEvaluator", "evaluation")
        names = ("perplexity", "baseline_perplexity", "ratio", "bits_per_byte")
        return {name: float(properties[name]) for name in names if name in properties}
    try:
        interval = results["interval"]
        return {
            **{key: _number(results[key]) for key in ("perplexity", "baseline_perplexity", "ratio")},
            "interval": (float(interval[0]), float(interval[1])) if interval else None,
            "confidence": float(results["confidence"]),
            "scored": int(results["scored"]),
            "baseline": str(results["baseline"]),
            "bits_per_byte": _number(results.get("bits_per_byte")),
            "intervals": _intervals(results.get("intervals")),
        }
    except (KeyError, TypeError, ValueError, IndexError):
        return {}


def verdicts(components: Components) -> dict[str, Any]:
    """Both validators' verdicts and reasons, by the names of RunRecord's fields."""
    found: dict[str, Any] = {}
    reasons: list[str] = []
    faults: list[str] = []
    validators = (
        ("blessed", "PerplexityEvaluator", "model_blessing"),
        ("servable", "ServingValidator", "infra_blessing"),
    )
    for name, component, key in validators:
        folder, properties = output(components, component, key)
        if folder is not None and "blessed" in properties:
            found[name] = properties["blessed"] == 1
            told = _read_json(folder / REASONS_FILE).get("reasons")
            told = told if isinstance(told, list) else [properties.get(MESSAGE_PROPERTY, "")]
            reasons += map(str, told)
            if not found[name]:
                faults += (str(reason) for reason in told if not str(reason).startswith("Warning:"))
    return {**found, "reasons": tuple(reasons), "faults": tuple(faults)}


def push(components: Components) -> dict[str, Any]:
    """The version pushed, by the names of RunRecord's fields."""
    _, properties = output(components, "Pusher", "pushed_model")
    if properties.get("pushed") != 1:
        return {}
    return {
        "pushed_version": int(properties["pushed_version"]),
        "pushed_path": properties["pushed_destination"],
        "content_hash": properties.get("content_hash", ""),
    }


def vocabulary(components: Components) -> dict[str, Any]:
    """The vocabulary that a run from scratch made, by the name of RunRecord's field."""
    _, properties = output(components, "VocabularyTrainer", "vocabulary")
    return {"vocabulary": dict(properties)} if properties else {}


def report(components: Components) -> dict[str, Any]:
    """The report's page, by the name of RunRecord's field."""
    folder, _ = output(components, "Reporter", "report")
    page = folder / PAGE_FILE if folder else None
    return {"report_path": str(page)} if page and page.is_file() else {}


def _intervals(raw: Any) -> dict[str, tuple[float, float]]:
    pairs = raw.items() if isinstance(raw, dict) else ()
    return {str(name): (float(ends[0]), float(ends[1])) for name, ends in pairs if ends}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
