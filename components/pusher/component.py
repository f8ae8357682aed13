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
    run_id: Parameter[str],
) -> None:
    """Push the package if both validators blessed it; otherwise record that nothing was pushed.

    Args:
        package: the candidate.
        evaluation: its evaluation; a summary goes into the pushed manifest.
        model_blessing: the evaluator's verdict.
        infra_blessing: the serving validator's verdict.
        pushed_model: gets `pushed` (0 or 1) and, if pushed, `pushed_destination`, `pushed_version`
            and `content_hash`.
        push_base: folder of the model's pushed versions.
        run_id: the run, recorded in the manifest.
    """
    verdicts = [Blessing.read(artifact) for artifact in (model_blessing, infra_blessing)]
    pushed_model.set_int_custom_property("pushed", 0)
    if not all(verdict.blessed for verdict in verdicts):
        reasons = [reason for verdict in verdicts if not verdict.blessed for reason in verdict.reasons]
        _log.warning("run %s: not pushed: %s", run_id, " ".join(reasons))
        return
    results = json.loads((Path(evaluation.uri) / RESULTS_FILE).read_text(encoding="utf-8"))
    summary = {"blessed": True, **{key: results[key] for key in _SUMMARY}}
    target, new = PackagePusher(Path(push_base)).push(
        serving_directory(package.uri), run_id=run_id, evaluation=summary
    )
    pushed_model.set_int_custom_property("pushed", 1)
    pushed_model.set_int_custom_property("new", int(new))
    pushed_model.set_string_custom_property("pushed_destination", str(target))
    pushed_model.set_string_custom_property("pushed_version", target.name)
    pushed_model.set_string_custom_property("content_hash", Manifest.load(target).content_hash)
    _log.info("run %s: %s %s", run_id, "pushed" if new else "already pushed as", target)


def pusher(
    *, package: Any, evaluation: Any, model_blessing: Any, infra_blessing: Any, push_base: Path, run_id: str
) -> Any:
    """The Pusher node; output channel `pushed_model`."""
    return pusher_component(
        package=package,
        evaluation=evaluation,
        model_blessing=model_blessing,
        infra_blessing=infra_blessing,
        push_base=str(push_base),
        run_id=run_id,
    ).with_id("Pusher")
