"""Warm start as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import logging
from pathlib import Path
from typing import Any

from tfx.dsl.component.experimental.annotations import OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Model

from components.baseline.lookup import settings_fingerprint
from components.baseline.pushed_models import pushed_hashes
from components.metadata.metadata_connection import MetadataConnection
from components.model_paths import serving_directory
from components.warm_start.start_point import StartPoint, find_start
from models.contract.errors import CheckpointError, PackageError

_log = logging.getLogger("tokenmill")


@component
def warm_start_component(
    start: OutputArtifact[Model],
    push_base: Parameter[str],
    pretrained: Parameter[str],
    metadata: Parameter[str],
    kind: Parameter[str],
    content: Parameter[str],
    settings: Parameter[str],
) -> None:
    """Write the model that training starts from as a checkpoint to `<start>/Format-Serving`.

    Args:
        start: Model artifact; says in its custom properties what it was made of.
        push_base: folder of the model's pushed versions.
        pretrained: checkpoint directory to start from when nothing blessed has been pushed.
        metadata: connection of ML Metadata as JSON, without a password; "" for none.
        kind: "package" or "checkpoint", as found when the pipeline was made.
        content: hash of its content then: an answer from cache is right as long as it is the same.
        settings: hash of the pretrained checkpoint's files besides its weights, which the start takes over.
    """
    found = find_start(
        Path(push_base),
        Path(pretrained),
        pushed_hashes(MetadataConnection.from_json(metadata) if metadata else None),
        content if kind == "package" else None,
    )
    if (found.kind, found.fingerprint) != (kind, content):
        raise _changed(found, kind, content)
    if settings_fingerprint(Path(pretrained)) != settings:
        raise _settings_changed(pretrained)
    found.write_checkpoint(serving_directory(start.uri))
    for name in ("kind", "path", "fingerprint", "run_id"):
        start.set_string_custom_property(f"start_{name}", getattr(found, name))
    start.set_int_custom_property("start_version", found.version)
    _log.info("warm start: %s", found.reason)


def warm_start(*, push_base: Path, pretrained: Path, metadata: MetadataConnection | None) -> Any:
    """The WarmStart node; output channel `start`, the Trainer's `base_model`.

    The start is looked up now, so that the answer of an earlier run is used again only if nothing
    newer was blessed since, and once more when the node runs.

    Args:
        push_base: folder of the model's pushed versions.
        pretrained: checkpoint directory to start from when nothing blessed has been pushed.
        metadata: where ML Metadata keeps what was pushed, None if it cannot be asked.

    Raises:
        CheckpointError: `pretrained` cannot be read.
    """
    found = find_start(push_base, pretrained, pushed_hashes(metadata))
    return warm_start_component(
        push_base=str(push_base),
        pretrained=str(pretrained),
        metadata=metadata.to_json() if metadata else "",
        kind=found.kind,
        content=found.fingerprint,
        settings=settings_fingerprint(pretrained),
    ).with_id("WarmStart")


def _changed(found: StartPoint, kind: str, content: str) -> PackageError:
    return PackageError(
        f"the model to start from changed since the run began: it was a {kind} with content {content[:12]}, "
        f"now it is {found.path} with {found.fingerprint[:12]}.",
        field="training.start_from",
        remedy="Start the run again.",
    )


def _settings_changed(pretrained: str) -> CheckpointError:
    return CheckpointError(
        f"config or tokenizer files of {pretrained} changed since the run began.",
        field="model.checkpoint",
        remedy="Start the run again.",
    )
