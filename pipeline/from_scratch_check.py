"""What can be known to fail in a run from scratch before it starts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from components.initial_model.architecture import decoder_config
from components.initial_model.from_scratch_config import FromScratchConfig
from components.trainer.training_data import document_end
from models.contract.errors import CheckpointError, ConfigError
from models.decoder_config import DecoderConfig
from pipeline.config import RunConfig
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec
from preprocessing.vocabulary_config import BYTES, VocabularyConfig
from preprocessing.vocabulary_training import train_vocabulary, write_vocabulary


def initial_decoder(config: FromScratchConfig) -> DecoderConfig:
    """The network as it will be.

    Raises:
        CheckpointError: the tokenizer that the config names cannot be reproduced.
    """
    given = config.vocabulary.tokenizer
    if given is None:
        return decoder_config(config, config.vocabulary.size, eos_ids=(0,))
    spec = read_spec(given)
    return decoder_config(config, spec.vocab_size, eos_ids=spec.eos_ids, bos_id=spec.bos_id)


def check_from_scratch(config: RunConfig) -> None:
    """Compare `model.from_scratch` with the other sections, and its special tokens with the loader's rules.

    Raises:
        ConfigError: settings that mean nothing without a pretrained model, or special tokens that text could
            be merged into or that cannot be told apart.
        CheckpointError: there is no special token that `training.document_end` names.
    """
    assert config.model.from_scratch is not None
    faults = list(_faults(config))
    if faults:
        raise ConfigError(" ".join(text for _, text in faults), field=faults[0][0])
    check_document_end(_spec(config.model.from_scratch.vocabulary), config.training.document_end)


def check_document_end(spec: TokenizerSpec, wanted: str | None) -> None:
    """See that the tokenizer has the token that `training.document_end` puts after each document.

    Raises:
        CheckpointError: it has not.
    """
    try:
        document_end(spec.specials, spec.eos_ids, wanted)
    except CheckpointError as error:
        raise CheckpointError(
            f"`training.document_end`: {error.message}", field=error.field, remedy=error.remedy
        ) from error


def _faults(config: RunConfig) -> Iterator[tuple[str, str]]:
    """Key at fault and a sentence with the remedy."""
    if config.training.method == "lora":
        yield (
            "training.method",
            "`training.method` is lora, but with `model.from_scratch` there are no weights to adapt. Set it "
            "to full.",
        )
    if config.training.start_from == "latest_blessed":
        yield (
            "training.start_from",
            "`training.start_from` is latest_blessed, but with `model.from_scratch` training starts from "
            "random weights. Remove it; or, to go on from a pushed version, write it with `tokenmill "
            "export-hf` and name it as `model.checkpoint` in place of `model.from_scratch`.",
        )
    if config.corpus.has_chat and config.model.tokenizer_directory is None:
        yield (
            "corpus.sources.format",
            "the corpus holds conversations, but a vocabulary that is made of it has no chat template. Name "
            "a tokenizer with one as `model.from_scratch.vocabulary.tokenizer`, or train on texts first.",
        )


def _spec(config: VocabularyConfig) -> TokenizerSpec:
    """The tokenizer as its loader will read it, but for the tokens that are not learned yet."""
    if config.tokenizer is not None:
        return read_spec(config.tokenizer)
    smallest = config.model_copy(update={"size": BYTES + len(config.specials)})
    with tempfile.TemporaryDirectory() as folder:
        write_vocabulary(Path(folder), train_vocabulary([], smallest), smallest)
        try:
            return read_spec(Path(folder))
        except CheckpointError as error:
            told = error.message.replace(f"{folder}/", "")
            raise ConfigError(
                f"`model.from_scratch.vocabulary` makes no tokenizer that loads: {told}",
                field="model.from_scratch.vocabulary",
                remedy=error.remedy,
            ) from error
