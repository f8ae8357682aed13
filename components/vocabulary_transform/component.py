"""Factory of Transform for a run whose tokenizer is an artifact of its own."""

from __future__ import annotations

from typing import Any

from tfx import types
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter
from tfx.types.standard_component_specs import TransformSpec

from components.vocabulary_trainer.vocabulary_artifact import Vocabulary
from components.vocabulary_transform.executor import VOCABULARY, VocabularyTransformExecutor
from preprocessing.preprocessing_fn import PREPROCESSING_FN


class VocabularyTransformSpec(TransformSpec):
    """TFX's Transform with one more input; another vocabulary makes it run again."""

    INPUTS = {**TransformSpec.INPUTS, VOCABULARY: ChannelParameter(type=Vocabulary)}  # noqa: RUF012


class VocabularyTransform(base_beam_component.BaseBeamComponent):
    """TFX's Transform, outputs `transform_graph` and `transformed_examples`.

    Args:
        examples: ExampleGen's output.
        schema: SchemaGen's output.
        vocabulary: VocabularyTrainer's output, whose tokenizer makes the ids.
    """

    SPEC_CLASS = VocabularyTransformSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(VocabularyTransformExecutor)

    def __init__(self, examples: Any, schema: Any, vocabulary: Any) -> None:
        transformed = types.Channel(type=standard_artifacts.Examples)
        transformed.matching_channel_name = "examples"
        spec = VocabularyTransformSpec(
            examples=examples,
            schema=schema,
            vocabulary=vocabulary,
            preprocessing_fn=PREPROCESSING_FN,
            force_tf_compat_v1=0,
            custom_config="{}",
            disable_statistics=1,
            transform_graph=types.Channel(type=standard_artifacts.TransformGraph),
            transformed_examples=transformed,
            updated_analyzer_cache=types.Channel(type=standard_artifacts.TransformCache),
        )
        super().__init__(spec=spec)


def vocabulary_transform(*, examples: Any, schema: Any, vocabulary: Any) -> VocabularyTransform:
    """The Transform node of a run from scratch."""
    return VocabularyTransform(examples, schema, vocabulary).with_id("Transform")
