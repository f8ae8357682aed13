"""Vocabulary trainer as a TFX component."""

# No `from __future__ import annotations` here: TFX reads the annotations as objects.

import logging
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Examples

from components.baseline.lookup import settings_fingerprint
from components.vocabulary_trainer.vocabulary_artifact import Vocabulary
from preprocessing.vocabulary_config import VocabularyConfig

_log = logging.getLogger("tokenmill")


@component
def vocabulary_trainer_component(
    examples: InputArtifact[Examples],
    vocabulary: OutputArtifact[Vocabulary],
    config: Parameter[str],
    given: Parameter[str],
    software: Parameter[str],
) -> None:
    """Make the tokenizer of a model that is trained from scratch, from the training split alone.

    Args:
        examples: ExampleGen's output.
        vocabulary: gets the tokenizer's files and `vocabulary_report.json`; the main figures are properties.
        config: a VocabularyConfig as JSON.
        given: hash of the tokenizer's files that the config names, "" if one is trained.
        software: version of the library that trains: another one may break ties in another way.
    """
    from components.vocabulary_trainer.make_vocabulary import make_vocabulary

    found = make_vocabulary(
        Path(examples.uri), Path(vocabulary.uri), VocabularyConfig.model_validate_json(config)
    )
    for name in ("size", "corpus_bytes"):
        vocabulary.set_int_custom_property(name, found[name])
    vocabulary.set_string_custom_property("fingerprint", found["fingerprint"])
    for split, figures in found["splits"].items():
        vocabulary.set_float_custom_property(f"bytes_per_token_{split}", figures["bytes_per_token"] or 0.0)
    _log.info("vocabulary of %d tokens, %s", found["size"], found["splits"])


def vocabulary_trainer(config: VocabularyConfig, *, examples: Any) -> Any:
    """The VocabularyTrainer node; output channel `vocabulary`."""
    given = ""
    if config.tokenizer is not None:
        config = config.model_copy(update={"tokenizer": config.tokenizer.absolute()})
        given = settings_fingerprint(config.tokenizer)
    return vocabulary_trainer_component(
        examples=examples,
        config=config.model_dump_json(),
        given=given,
        software=f"tokenizers {version('tokenizers')}",
    ).with_id("VocabularyTrainer")
