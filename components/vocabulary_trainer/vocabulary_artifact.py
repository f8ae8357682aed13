"""Vocabulary: the type of the artifact that holds a trained tokenizer."""

from __future__ import annotations

from tfx.types.artifact import Artifact


class Vocabulary(Artifact):
    """A folder with tokenizer.json, tokenizer_config.json and `vocabulary_report.json`.

    Custom properties: `size` in tokens, `fingerprint` of everything that decides ids, `corpus_bytes` learned
    from, and `bytes_per_token_train` and `bytes_per_token_eval` on a sample of either split, 0 without text.
    """

    TYPE_NAME = "Vocabulary"
