"""ByteLevelBpeEncoder: text to ids by GPT-2's byte-level BPE, as graph operations."""

from __future__ import annotations

import tensorflow as tf

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.merge_rules import not_self_derivable, used_before_complete
from preprocessing.tokenizers.sentencepiece_merger import SentencepieceMerger
from preprocessing.tokenizers.special_matcher import SpecialMatcher
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec
from preprocessing.tokenizers.vector_merger import VectorMerger
from preprocessing.tokenizers.word_pattern import WordPattern
from preprocessing.tokenizers.word_splitter import WordSplitter


class ByteLevelBpeEncoder(tf.Module):
    """Words, then each distinct word's merges once, then the words' ids in order.

    Args:
        spec: of kind byte-level BPE.

    Raises:
        CheckpointError: the merge rules can be reproduced by neither way of merging.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__()
        self._splitter = WordSplitter(spec.pattern == WordPattern.GPT2_DIGITS)
        self._matcher = SpecialMatcher(spec.specials) if spec.specials else None
        self._merger = _merger(spec)

    @property
    def route(self) -> str:
        """Which proof held: "sentencepiece" (merging by concatenation is exact) or "vector"."""
        return "sentencepiece" if isinstance(self._merger, SentencepieceMerger) else "vector"

    def encode(self, text: tf.Tensor, with_special: bool) -> tf.RaggedTensor:
        """[B] string to [B, None] int32; special tokens become ids only if asked."""
        words = self._splitter.split(text, self._matcher if with_special else None)
        unique, index = tf.unique(words.text)
        ids = tf.gather(self._merger.merge(unique), index)
        if words.special_id is not None:
            ids = tf.concat([ids, optional_column(words.special_id)], 1)
        splits = tf.gather(ids.row_splits, words.row_splits)
        return tf.RaggedTensor.from_row_splits(ids.values, splits, validate=False)


def optional_column(ids: tf.Tensor) -> tf.RaggedTensor:
    """[N] int32 as [N, 0 or 1]: the rows whose id is negative are empty."""
    present = ids >= 0
    return tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(ids, present), tf.cast(present, tf.int64), validate=False
    )


def _merger(spec: TokenizerSpec) -> SentencepieceMerger | VectorMerger:
    if not not_self_derivable(spec.vocab, spec.merges):
        return SentencepieceMerger(spec)
    rule = used_before_complete(spec.merges)
    if rule:
        raise CheckpointError(
            f"`model.merges`: the rule {' '.join(rule)!r} comes before the rules that make its parts, "
            "so merging cannot be reproduced exactly.",
            field="model.merges",
            remedy="Use a tokenizer whose merges are in the order of their training.",
        )
    return VectorMerger(spec)
