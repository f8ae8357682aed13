"""Reporter as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import logging
from pathlib import Path
from typing import Any

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import (
    Examples,
    InfraBlessing,
    Model,
    ModelBlessing,
    ModelEvaluation,
    ModelRun,
    PushedModel,
)

from components.model_paths import serving_directory
from components.reporter.report_artifact import RunReport

_log = logging.getLogger("tokenmill")


@component
def reporter_component(
    examples: InputArtifact[Examples],
    model_run: InputArtifact[ModelRun],
    package: InputArtifact[Model],
    baseline: InputArtifact[Model],
    evaluation: InputArtifact[ModelEvaluation],
    model_blessing: InputArtifact[ModelBlessing],
    infra_blessing: InputArtifact[InfraBlessing],
    pushed_model: InputArtifact[PushedModel],
    report: OutputArtifact[RunReport],
    config: Parameter[str],
    pipeline: Parameter[str],
    model: Parameter[str],
    run_id: Parameter[str],
) -> None:
    """Write the run's report: `report.html` for people, `report.json` for machines.

    Args:
        examples: ExampleGen's output, for what the corpus held.
        model_run: the Trainer's record.
        package: the candidate.
        baseline: what it was compared with.
        evaluation: how it did.
        model_blessing: the evaluator's verdict.
        infra_blessing: the serving validator's verdict.
        pushed_model: what was pushed, if anything.
        report: gets both files, and the state as a property.
        config: the run's configuration as YAML.
        pipeline: the pipeline's name.
        model: name of the model.
        run_id: the run.
    """
    from components.reporter.report_files import write_report
    from components.reporter.report_sources import ReportSources

    named = {
        "examples": examples,
        "model_run": model_run,
        "package": package,
        "baseline": baseline,
        "evaluation": evaluation,
        "model_blessing": model_blessing,
        "infra_blessing": infra_blessing,
        "pushed_model": pushed_model,
    }
    sources = ReportSources(
        run_id=run_id,
        pipeline=pipeline,
        model=model,
        config=config,
        examples=Path(examples.uri),
        model_run=Path(model_run.uri),
        package=serving_directory(package.uri),
        baseline=Path(baseline.uri),
        evaluation=Path(evaluation.uri),
        model_blessing=Path(model_blessing.uri),
        infra_blessing=Path(infra_blessing.uri),
        pushed=_properties(pushed_model),
        artifacts={name: (one.type_name, one.id, one.uri) for name, one in named.items()},
    )
    state = write_report(sources, Path(report.uri))
    report.state = state
    _log.info("run %s: %s, report in %s", run_id, state, report.uri)


def _properties(artifact: Any) -> dict[str, Any]:
    found = {}
    for name, value in artifact.mlmd_artifact.custom_properties.items():
        kind = value.WhichOneof("value")
        if kind in ("int_value", "double_value", "string_value"):
            found[name] = getattr(value, kind)
    return found


def reporter(
    *,
    examples: Any,
    model_run: Any,
    package: Any,
    baseline: Any,
    evaluation: Any,
    model_blessing: Any,
    infra_blessing: Any,
    pushed_model: Any,
    config: str,
    pipeline: str,
    model: str,
    run_id: str,
) -> Any:
    """The Reporter node, last of a pipeline; output channel `report`. Never answered from cache."""
    return reporter_component(
        examples=examples,
        model_run=model_run,
        package=package,
        baseline=baseline,
        evaluation=evaluation,
        model_blessing=model_blessing,
        infra_blessing=infra_blessing,
        pushed_model=pushed_model,
        config=config,
        pipeline=pipeline,
        model=model,
        run_id=run_id,
    ).with_id("Reporter")
