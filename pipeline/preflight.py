"""The pre-flight: what can be known to fail is refused before anything runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from components.corpus_example_gen.component import read_chat_template
from components.trainer.attention_heads import check_heads
from components.tuner.tuning_config import ADAPTER_KEYS
from models.contract.errors import ConfigError, TokenmillError
from models.decoder_config import DecoderConfig
from models.lora.projection import projections, select
from pipeline.checkpoint_source import check_source, is_checkpoint
from pipeline.config import RunConfig
from pipeline.from_scratch_check import check_document_end, check_from_scratch, initial_decoder
from pipeline.metadata_database import check_database
from preprocessing.corpus_files import list_files
from preprocessing.tokenizers.load import read_spec

_PATTERN_CHARACTERS = "[]*?\\"


def preflight(config: RunConfig) -> DecoderConfig | None:
    """Compare the configuration with itself, checkpoint, tokenizer, corpus and folders.

    Nothing is written that outlives the call.

    Returns:
        The decoder config of the checkpoint or of the model from scratch; None if the checkpoint must first
        be made from `model.source`: what depends on it is then not checked yet.

    Raises:
        ConfigError: sizes or adapters that do not fit together or the model, a folder that cannot be
            written, a metadata database that is damaged or cannot be reached, or conversations without a
            chat template.
        DataError: the corpus is missing or has no matching file.
        CheckpointError: there is no checkpoint and no source, or it is not readable, or its tokenizer
            has no `training.document_end`.
        TokenmillError: of the first fault's class, with every fault in the message, if there are several.
    """
    decoder = _decoder(config)
    checks: list[Callable[[], object]] = [
        lambda: _check_sizes(config, decoder),
        lambda: _check_tuning(config),
        lambda: _check_folders(config),
        lambda: check_database(config.metadata_connection),
        lambda: list_files(config.corpus.sources, config.corpus.spans),
    ]
    if config.model.from_scratch is not None:
        checks.append(lambda: check_from_scratch(config))
    elif decoder is not None:
        checks.append(lambda: _check_document_end(config))
    if decoder is not None:
        checks.append(lambda: check_heads(config.training.tensorboard.attention, decoder))
        checks.append(lambda: _check_adapters(config, decoder))
        if config.corpus.has_chat and config.model.tokenizer_directory is not None:
            checks.append(lambda: read_chat_template(config.model.tokenizer_directory))
    faults = [fault for check in checks if (fault := _fault_of(check)) is not None]
    if len(faults) > 1:
        raise type(faults[0])(" ".join(str(fault) for fault in faults), field=faults[0].field)
    if faults:
        raise faults[0]
    return decoder


def _decoder(config: RunConfig) -> DecoderConfig | None:
    if config.model.from_scratch is not None:
        return initial_decoder(config.model.from_scratch)
    if is_checkpoint(config.model.checkpoint):
        return DecoderConfig.load(config.model.checkpoint)
    check_source(config.model)
    return None


def _fault_of(check: Callable[[], object]) -> TokenmillError | None:
    try:
        check()
    except TokenmillError as fault:
        return fault
    return None


def _check_sizes(config: RunConfig, decoder: DecoderConfig | None) -> None:
    faults = list(_size_faults(config, decoder))
    if faults:
        raise ConfigError(" ".join(text for _, text in faults), field=faults[0][0])


def _size_faults(config: RunConfig, decoder: DecoderConfig | None) -> Iterator[tuple[str, str]]:
    """Key at fault and a sentence with the remedy."""
    longest = config.export.max_length
    if config.evaluation.context > longest:
        yield (
            "evaluation.context",
            f"`evaluation.context` is {config.evaluation.context}, more than `export.max_length` {longest}: "
            "the package could not score such windows. Lower the first or raise the second.",
        )
    if decoder is None:
        return
    searched = config.tuning.parameters.get("sequence_length") if config.tuning else None
    for key, value in (
        ("export.max_length", longest),
        ("training.sequence_length", config.training.sequence_length),
        ("training.validation.sequence_length", config.training.validation.sequence_length or 0),
        ("tuning.parameters.sequence_length", max(searched.bounds) if searched else 0),
    ):
        if value > decoder.max_length:
            yield (
                key,
                f"`{key}` is {value}, more than the context {decoder.max_length} of "
                f"{_model_place(config)}. Set it to {decoder.max_length} or less.",
            )


def _model_place(config: RunConfig) -> str:
    if config.model.from_scratch is not None:
        return "`model.from_scratch`"
    return f"the model in {config.model.checkpoint}"


def _check_tuning(config: RunConfig) -> None:
    parameters = config.tuning.parameters if config.tuning else ()
    searched = [name for name in parameters if name.startswith(ADAPTER_KEYS)]
    if searched and config.training.method != "lora":
        raise ConfigError(
            f"`tuning.parameters.{searched[0]}` would change nothing: `training.method` is "
            f"{config.training.method}, which has no adapters.",
            field=f"tuning.parameters.{searched[0]}",
            remedy="Set `training.method: lora`, or search something else.",
        )


def _check_adapters(config: RunConfig, decoder: DecoderConfig) -> None:
    if config.training.method == "lora":
        select(projections(decoder), config.training.lora.targets)


def _check_folders(config: RunConfig) -> None:
    work = config.workdir
    _check_plain(config.pipeline_root)
    places = {
        "workdir": [work, config.runs_directory, config.pipeline_root, work / "training", work / "scores"],
        "push.directory": [config.push_base],
    }
    if config.model.checkpoint is not None and not is_checkpoint(config.model.checkpoint):
        places["model.checkpoint"] = [config.model.checkpoint]
    for key, folders in places.items():
        for folder in folders:
            _check_folder(key, folder.absolute())


def _check_plain(folder: Path) -> None:
    """Beam and TensorFlow find files by patterns, in which a folder's name cannot be quoted."""
    special = sorted(set(_PATTERN_CHARACTERS) & set(str(folder)))
    if special:
        raise ConfigError(
            f"`workdir`: {folder} holds {' and '.join(special)}, which stand for other characters where "
            "files are searched.",
            field="workdir",
            remedy=f"Name a folder whose path has none of {' '.join(_PATTERN_CHARACTERS)}.",
        )


def _check_folder(key: str, folder: Path) -> None:
    """Try to write where the folder is or, if it must be made, where its first missing part will be."""
    try:
        nearest = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=nearest):
            return
    except OSError as error:
        raise ConfigError(
            f"`{key}`: {folder} cannot be written: {error.strerror}.",
            field=key,
            remedy=f"Name a writable folder as `{key}`, or remove the file in its way.",
        ) from error


def _check_document_end(config: RunConfig) -> None:
    check_document_end(read_spec(config.model.checkpoint), config.training.document_end)
