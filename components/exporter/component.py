"""Exporter as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import logging
from pathlib import Path
from typing import Any

import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Model

from components.exporter.export_config import ExportConfig
from components.model_paths import serving_directory
from models.contract.manifest import Manifest

_log = logging.getLogger("tokenmill")


@component
def exporter_component(
    checkpoint: InputArtifact[Model],
    package: OutputArtifact[Model],
    config: Parameter[str],
    model_name: Parameter[str],
) -> None:
    """Write the checkpoint's model package to `<package>/Format-Serving`.

    Args:
        checkpoint: model artifact with a Hugging Face checkpoint in it.
        package: the package's artifact; gets the content hash as a custom property.
        config: an ExportConfig as JSON.
        model_name: name the package is served under.
    """
    from models.export import ExportOptions, export_package

    settings = ExportConfig.model_validate_json(config)
    options = ExportOptions(
        model_name=model_name,
        max_length=settings.max_length,
        block_size=settings.block_size,
        num_blocks=settings.num_blocks,
        dtype=settings.dtype,
        profile=settings.xla,
        cores=settings.cores,
    )
    base = Path(package.uri)
    base.mkdir(parents=True, exist_ok=True)
    written = export_package(serving_directory(checkpoint.uri), base, options, version=1)
    target = written.rename(serving_directory(package.uri))
    manifest = Manifest.load(target)
    package.set_string_custom_property("content_hash", manifest.content_hash)
    package.set_string_custom_property("model_name", model_name)
    _log.info("exported %s to %s", model_name, target)


def exporter(config: ExportConfig, *, checkpoint: Any, model_name: str) -> Any:
    """The Exporter node; output channel `package`.

    Args:
        config: form of the package.
        checkpoint: channel of the Trainer's Model artifact.
        model_name: name the package is served under.
    """
    return exporter_component(
        checkpoint=checkpoint, config=config.model_dump_json(), model_name=model_name
    ).with_id("Exporter")
