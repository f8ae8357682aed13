"""Baseline lookup as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Model

from components.baseline.lookup import find_baseline
from components.baseline.pushed_models import pushed_hashes
from components.metadata.metadata_connection import MetadataConnection
from components.model_paths import serving_directory
from models.contract.errors import PackageError
from models.contract.labels import Labels
from models.contract.manifest import Manifest

_log = logging.getLogger("tokenmill")


@component
def baseline_component(
    package: InputArtifact[Model],
    baseline: OutputArtifact[Model],
    push_base: Parameter[str],
    pretrained: Parameter[str],
    metadata: Parameter[str],
    run_id: Parameter[str],
    untrained: InputArtifact[Model] = None,
) -> None:
    """Find what the candidate is compared with and store it as `baseline.json`.

    Args:
        package: the candidate; decides which tokenizer a baseline must have.
        baseline: Model artifact that points to the baseline instead of holding a copy.
        push_base: folder of the model's pushed versions.
        pretrained: checkpoint directory the run started from; "" if it started from random weights.
        metadata: connection of ML Metadata as JSON, without a password; "" for none.
        run_id: the run; being new each time, it keeps an answer of an earlier run from being reused.
        untrained: InitialModel's output if there is no pretrained checkpoint.
    """
    fingerprint = Manifest.load(serving_directory(package.uri)).tokenizer.fingerprint
    found = find_baseline(
        Path(push_base),
        Path(pretrained) if untrained is None else serving_directory(untrained.uri),
        tokenizer_fingerprint=fingerprint,
        recorded=pushed_hashes(MetadataConnection.from_json(metadata) if metadata else None),
        untrained=untrained is not None,
    )
    found = replace(found, stable=_stable(Path(push_base)))
    found.write(Path(baseline.uri))
    baseline.set_string_custom_property("baseline_path", found.path)
    baseline.set_string_custom_property("baseline_fingerprint", found.fingerprint)
    baseline.set_string_custom_property("baseline_kind", found.kind)
    baseline.set_string_custom_property("baseline_run_id", found.run_id)
    _log.info("run %s: %s", run_id, found.reason)


def _stable(push_base: Path) -> int | None:
    try:
        labels = Labels.load(push_base)
    except PackageError as error:
        _log.warning("the labels of %s cannot be read: %s", push_base, error)
        return None
    return labels.stable if labels else None


def baseline_lookup(
    *,
    package: Any,
    push_base: Path,
    pretrained: Path | None,
    metadata: MetadataConnection | None,
    run_id: str,
    untrained: Any = None,
) -> Any:
    """The BaselineLookup node; output channel `baseline`. Never answered from cache.

    Args:
        package: the candidate.
        push_base: folder of the model's pushed versions.
        pretrained: checkpoint directory the run started from, or None with `untrained`.
        metadata: where ML Metadata keeps what was pushed, None if it cannot be asked.
        run_id: the run.
        untrained: InitialModel's output where the run starts from random weights.
    """
    start = {"untrained": untrained} if pretrained is None else {}
    return baseline_component(
        package=package,
        push_base=str(push_base),
        pretrained=str(pretrained or ""),
        metadata=metadata.to_json() if metadata else "",
        run_id=run_id,
        **start,
    ).with_id("BaselineLookup")
