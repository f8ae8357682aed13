"""Initial model as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

from pathlib import Path
from typing import Any

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Model

from components.initial_model.from_scratch_config import FromScratchConfig
from components.model_paths import serving_directory
from components.vocabulary_trainer.vocabulary_artifact import Vocabulary


@component
def initial_model_component(
    vocabulary: InputArtifact[Vocabulary],
    model: OutputArtifact[Model],
    config: Parameter[str],
) -> None:
    """Write a checkpoint of random weights to `<model>/Format-Serving`, with the vocabulary's tokenizer.

    Args:
        vocabulary: VocabularyTrainer's output.
        model: the checkpoint; custom properties tell its parameters and seed.
        config: a FromScratchConfig as JSON.
    """
    from components.initial_model.architecture import decoder_config
    from models.random_checkpoint import write_initial_checkpoint
    from preprocessing.tokenizers.load import read_spec

    settings = FromScratchConfig.model_validate_json(config)
    tokenizer = Path(vocabulary.uri)
    spec = read_spec(tokenizer)
    decoder = decoder_config(settings, spec.vocab_size, eos_ids=spec.eos_ids, bos_id=spec.bos_id)
    write_initial_checkpoint(decoder, tokenizer, serving_directory(model.uri), seed=settings.seed)
    model.set_int_custom_property("parameters", decoder.num_parameters)
    model.set_int_custom_property("seed", settings.seed)


def initial_model(config: FromScratchConfig, *, vocabulary: Any) -> Any:
    """The InitialModel node; output channel `model`, the Trainer's `base_model`."""
    return initial_model_component(vocabulary=vocabulary, config=config.model_dump_json()).with_id(
        "InitialModel"
    )
