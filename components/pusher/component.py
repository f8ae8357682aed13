"""Pusher as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import json
import logging
from pathlib import Path
from typing import Any

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import InfraBlessing, Model, ModelBlessing, ModelEvaluation, PushedModel

from components.blessing import Blessing
from components.model_paths import serving_directory
from components.perplexity_evaluator.result_files import RESULTS_FILE
from components.pusher.package_pusher import PackagePusher
from models.contract.manifest import Manifest

_log = logging.getLogger("tokenmill")
_SUMMARY = (
    "perplexity",
    "baseline_perplexity",
    "ratio",
    "interval",
    "bits_per_byte",
    "scored",
    "baseline",
    "split",
)


@component
def pusher_component(
    package: InputArtifact[Model],
    evaluation: InputArtifact[ModelEvaluation],
    model_blessing: InputArtifact[ModelBlessing],
    infra_blessing: InputArtifact[InfraBlessing],
    pushed_model: OutputArtifact[PushedModel],
    push_base: Parameter[str],
    keep: Parameter[int],
    run_id: Parameter[str],
) -> None:
    """Push the package if both validators blessed it; otherwise record that nothing was pushed.

    Args:
        package: the candidate.
        evaluation: its evaluation; a summary goes into the pushed manifest.
        model_blessing: the evaluator's verdict.
        infra_blessing: the serving validator's verdict.
        pushed_model: gets `pushed` (0 or 1) and, if pushed, `pushed_destination`, `pushed_version`,
            `content_hash`, and as `label` the label that the version has after the push.
        push_base: folder of the model's pushed versions.
        keep: newest blessed versions that stay there, 0 for all.
        run_id: the run, recorded in the manifest.
    """
    verdicts = [Blessing.read(artifact) for artifact in (model_blessing, infra_blessing)]
    pushed_model.set_int_custom_property("pushed", 0)
    if not all(verdict.blessed for verdict in verdicts):
        reasons = [reason for verdict in verdicts if not verdict.blessed for reason in verdict.reasons]
        _log.warning("run %s: not pushed: %s", run_id, " ".join(reasons))
        return
    results = json.loads((Path(evaluation.uri) / RESULTS_FILE).read_text(encoding="utf-8"))
    pushed = PackagePusher(Path(push_base), keep=keep or None).push(
        serving_directory(package.uri),
        run_id=run_id,
        evaluation=evaluation_summary(results),
        reason=verdicts[0].reasons[0],
    )
    pushed_model.set_int_custom_property("pushed", 1)
    pushed_model.set_int_custom_property("new", int(pushed.new))
    pushed_model.set_string_custom_property("pushed_destination", str(pushed.path))
    pushed_model.set_string_custom_property("pushed_version", pushed.path.name)
    pushed_model.set_string_custom_property("label", pushed.label)
    pushed_model.set_string_custom_property("content_hash", Manifest.load(pushed.path).content_hash)
    _log.info(
        "run %s: %s %s%s%s",
        run_id,
        "pushed" if pushed.new else "already pushed as",
        pushed.path,
        f", {pushed.label}" if pushed.label else ", no label yet",
        f", removed {list(pushed.removed)}" if pushed.removed else "",
    )


def evaluation_summary(results: dict[str, Any]) -> dict[str, Any]:
    """What a pushed manifest tells of the evaluation that blessed it.

    Args:
        results: of the evaluation; `parent`, what quantised weights lost, is carried where it is there.
    """
    summary = {"blessed": True, **{key: results[key] for key in _SUMMARY}}
    parent = results.get("parent")
    return summary if parent is None else {**summary, "parent": parent}


def pusher(
    *,
    package: Any,
    evaluation: Any,
    model_blessing: Any,
    infra_blessing: Any,
    push_base: Path,
    run_id: str,
    keep: int | None = None,
) -> Any:
    """The Pusher node; output channel `pushed_model`."""
    return pusher_component(
        package=package,
        evaluation=evaluation,
        model_blessing=model_blessing,
        infra_blessing=infra_blessing,
        push_base=str(push_base),
        keep=keep or 0,
        run_id=run_id,
    ).with_id("Pusher")
