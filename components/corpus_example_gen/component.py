"""Factory of the corpus ExampleGen."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from tfx import types
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.types import standard_artifacts, standard_component_specs
from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter

from components.corpus_example_gen.corpus_config import CorpusConfig
from components.corpus_example_gen.executor import CorpusExampleGenExecutor
from models.contract.errors import ConfigError
from preprocessing.corpus_files import fingerprint, list_files
from preprocessing.tokenizers.chat_template import load_chat_template


class CorpusExampleGenSpec(ComponentSpec):
    """Parameters: the configuration as JSON, the chat template, and the fingerprint of the files; a cached
    result is valid while all are the same."""

    PARAMETERS = {  # noqa: RUF012
        "config": ExecutionParameter(type=str),
        "chat_template": ExecutionParameter(type=str),
        "fingerprint": ExecutionParameter(type=str),
    }
    INPUTS: dict[str, Any] = {}  # noqa: RUF012
    OUTPUTS = {  # noqa: RUF012
        standard_component_specs.EXAMPLES_KEY: ChannelParameter(type=standard_artifacts.Examples)
    }


class CorpusExampleGen(base_beam_component.BaseBeamComponent):
    """ExampleGen over folders of text files; output `examples` with splits `train` and `eval`.

    Args:
        config: the corpus.
        corpus_fingerprint: of its files; another one makes the component run again.
        chat_template: `ChatTemplate.to_json()`, or nothing if no source holds conversations.
    """

    SPEC_CLASS = CorpusExampleGenSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(CorpusExampleGenExecutor)

    def __init__(self, config: CorpusConfig, corpus_fingerprint: str, chat_template: str = "") -> None:
        spec = CorpusExampleGenSpec(
            config=config.model_dump_json(),
            fingerprint=corpus_fingerprint,
            chat_template=chat_template,
            examples=types.Channel(type=standard_artifacts.Examples),
        )
        super().__init__(spec=spec)


def corpus_example_gen(
    config: CorpusConfig, corpus_fingerprint: str | None = None, *, checkpoint: Path | None = None
) -> CorpusExampleGen:
    """The corpus ExampleGen of a pipeline.

    Lists the corpus now, so that a missing path is refused before anything is written and a changed
    file makes the component run again, while an unchanged corpus is answered from the cache.

    Args:
        config: the corpus.
        corpus_fingerprint: given where the corpus is not at hand, e.g. when a pipeline is compiled on
            another machine; the files are then listed by the executor only, and caching must be off.
        checkpoint: the pretrained checkpoint, whose tokenizer's chat template renders conversations.

    Raises:
        DataError: a source is missing or has no matching file.
        ConfigError: a source holds conversations, and there is no checkpoint or no chat template in it.
        CheckpointError: the chat template is not valid.
    """
    if corpus_fingerprint is None:
        corpus_fingerprint = fingerprint(list_files(config.sources, config.spans))
    template = read_chat_template(checkpoint, config.chat_date) if config.has_chat else ""
    return CorpusExampleGen(config, corpus_fingerprint, template)


def read_chat_template(checkpoint: Path | None, today: date | None = None) -> str:
    """A checkpoint's chat template as `ChatTemplate.to_json()`, with the date it is to show.

    Raises:
        ConfigError: there is no checkpoint or it has no chat template.
        CheckpointError: its tokenizer cannot be reproduced or the template is not valid.
    """
    template = None if checkpoint is None else load_chat_template(checkpoint, today)
    if template is None:
        raise ConfigError(
            f"the corpus holds conversations, but the tokenizer of {checkpoint} has no chat template.",
            field="corpus.sources.format",
            remedy="Put chat_template.jinja beside the tokenizer, or take another checkpoint or format.",
        )
    return template.to_json()
