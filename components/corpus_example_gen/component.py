"""Factory of the corpus ExampleGen."""

from __future__ import annotations

from typing import Any

from tfx import types
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.types import standard_artifacts, standard_component_specs
from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter

from components.corpus_example_gen.corpus_config import CorpusConfig
from components.corpus_example_gen.executor import CorpusExampleGenExecutor
from preprocessing.corpus_files import fingerprint, list_files


class CorpusExampleGenSpec(ComponentSpec):
    """Parameters: the configuration as JSON and the fingerprint that makes a cached result valid."""

    PARAMETERS = {  # noqa: RUF012
        "config": ExecutionParameter(type=str),
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
    """

    SPEC_CLASS = CorpusExampleGenSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(CorpusExampleGenExecutor)

    def __init__(self, config: CorpusConfig, corpus_fingerprint: str) -> None:
        spec = CorpusExampleGenSpec(
            config=config.model_dump_json(),
            fingerprint=corpus_fingerprint,
            examples=types.Channel(type=standard_artifacts.Examples),
        )
        super().__init__(spec=spec)


def corpus_example_gen(config: CorpusConfig, corpus_fingerprint: str | None = None) -> CorpusExampleGen:
    """The corpus ExampleGen of a pipeline.

    Lists the corpus now, so that a missing path is refused before anything is written and a changed
    file makes the component run again, while an unchanged corpus is answered from the cache.

    Args:
        config: the corpus.
        corpus_fingerprint: given where the corpus is not at hand, e.g. when a pipeline is compiled on
            another machine; the files are then listed by the executor only, and caching must be off.

    Raises:
        DataError: a source is missing or has no matching file.
    """
    if corpus_fingerprint is None:
        corpus_fingerprint = fingerprint(list_files(config.sources))
    return CorpusExampleGen(config, corpus_fingerprint)
