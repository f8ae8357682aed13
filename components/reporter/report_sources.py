"""ReportSources: where a run's results lie when the report is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ReportSources:
    """Folders of a run's artifacts; what is None or empty is left out of the report.

    Args:
        run_id: the run.
        pipeline: the pipeline's name.
        model: name of the model that is made.
        config: the run's configuration as YAML.
        examples: ExampleGen's output, for `corpus_report.json`.
        model_run: the Trainer's record, for `training_summary.json`.
        package: version directory of the candidate, for its manifest.
        baseline: the BaselineLookup's answer.
        evaluation: the evaluation, for `results.json`.
        model_blessing: the evaluator's verdict.
        infra_blessing: the serving validator's verdict.
        pushed: custom properties of the Pusher's artifact.
        artifacts: name → (type, id in ML Metadata, path) of what the run made.
    """

    run_id: str
    pipeline: str = ""
    model: str = ""
    config: str = ""
    examples: Path | None = None
    model_run: Path | None = None
    package: Path | None = None
    baseline: Path | None = None
    evaluation: Path | None = None
    model_blessing: Path | None = None
    infra_blessing: Path | None = None
    pushed: dict[str, Any] = field(default_factory=dict)
    artifacts: dict[str, tuple[str, int, str]] = field(default_factory=dict)
