"""VocabularyTransformExecutor: tells TFX's Transform where the run's tokenizer lies."""

from __future__ import annotations

import json
from typing import Any

from tfx.components.transform.executor import Executor
from tfx.types import artifact_utils
from tfx.types.standard_component_specs import CUSTOM_CONFIG_KEY

from preprocessing.preprocessing_fn import TOKENIZER

VOCABULARY = "vocabulary"
"""Key of the input."""


class VocabularyTransformExecutor(Executor):
    """TFX's executor; only the path of the tokenizer is known no sooner than it runs."""

    def Do(  # noqa: N802
        self, input_dict: dict[str, Any], output_dict: dict[str, Any], exec_properties: dict[str, Any]
    ) -> None:
        """Transform with the tokenizer in the input `vocabulary`; see TFX's executor for the others."""
        tokenizer = artifact_utils.get_single_uri(input_dict[VOCABULARY])
        named = {**exec_properties, CUSTOM_CONFIG_KEY: json.dumps({TOKENIZER: tokenizer})}
        super().Do(input_dict, output_dict, named)
