"""ServingValidator as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import logging
from typing import Any

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import InfraBlessing, Model

from components.model_paths import serving_directory
from components.serving_validator.validation_config import ValidationConfig

_log = logging.getLogger("tokenmill")


@component
def serving_validator_component(
    package: InputArtifact[Model],
    checkpoint: InputArtifact[Model],
    infra_blessing: OutputArtifact[InfraBlessing],
    config: Parameter[str],
) -> None:
    """Bless a package that serves exactly what was trained.

    Args:
        package: the exported package.
        checkpoint: the Trainer's model, from which it was exported.
        infra_blessing: the verdict.
        config: a ValidationConfig as JSON.
    """
    from components.serving_validator.serving_validator import ServingValidator

    verdict = ServingValidator(
        serving_directory(package.uri),
        serving_directory(checkpoint.uri),
        ValidationConfig.model_validate_json(config),
    ).run()
    verdict.write(infra_blessing, prefix="INFRA_")
    _log.info("serving: %s", " ".join(verdict.reasons))


def serving_validator(config: ValidationConfig, *, package: Any, checkpoint: Any) -> Any:
    """The ServingValidator node; output channel `infra_blessing`."""
    return serving_validator_component(
        package=package, checkpoint=checkpoint, config=config.model_dump_json()
    ).with_id("ServingValidator")
