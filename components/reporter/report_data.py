"""The report as plain values: what `report.json` holds, and what the page is drawn from."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from components.baseline.baseline import BASELINE_FILE
from components.blessing import REASONS_FILE
from components.corpus_example_gen.report_file import REPORT
from components.perplexity_evaluator.result_files import RESULTS_FILE
from components.reporter.report_sources import ReportSources
from components.reporter.report_verdict import report_verdict
from components.trainer.training_history import SUMMARY
from models.contract.manifest import MANIFEST_PATH

SCHEMA_VERSION = 1

_SOFTWARE = ("tokenmill", "tfx", "tensorflow", "tensorflow-text", "keras", "numpy")
_OF_MANIFEST = ("model", "family", "dims", "max_length", "dtype", "content_hash", "created", "memory_bytes")


def report_data(sources: ReportSources) -> dict[str, Any]:
    """Gather a report; a file that is missing or broken leaves its section None.

    Args:
        sources: where a run's results lie.
    """
    evaluation = _read(sources.evaluation, RESULTS_FILE)
    serving = _read(sources.infra_blessing, REASONS_FILE)
    blessing = _read(sources.model_blessing, REASONS_FILE)
    package = _read(sources.package, MANIFEST_PATH)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": sources.run_id,
        "pipeline": sources.pipeline,
        "model": sources.model,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "verdict": report_verdict(
            sources.model, evaluation or {}, blessing or {}, serving or {}, sources.pushed
        ),
        "evaluation": evaluation,
        "serving": serving,
        "training": _read(sources.model_run, SUMMARY),
        "data": _read(sources.examples, REPORT),
        "lineage": {
            "baseline": _read(sources.baseline, BASELINE_FILE),
            "package": {key: package[key] for key in _OF_MANIFEST if key in package} if package else None,
            "pushed": sources.pushed or None,
            "artifacts": [
                {"name": name, "type": kind, "id": number, "path": path}
                for name, (kind, number, path) in sources.artifacts.items()
            ],
            "software": _software(),
        },
        "config": sources.config,
    }


def _read(folder: Path | None, name: str | Path) -> dict[str, Any] | None:
    if folder is None:
        return None
    try:
        value = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _software() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _SOFTWARE:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
