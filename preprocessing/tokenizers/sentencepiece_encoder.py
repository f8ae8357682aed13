"""SentencepieceEncoder: text to ids by TF Text's SentencePiece operation."""

from __future__ import annotations

import tensorflow as tf

from preprocessing.tokenizers.byte_level_bpe_encoder import optional_column
from preprocessing.tokenizers.sentencepiece_operation import SentencepieceOperation
from preprocessing.tokenizers.sentencepiece_spec import SPACE, SpaceInFront
from preprocessing.tokenizers.special_matcher import SpecialMatcher
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec


class SentencepieceEncoder(tf.Module):
    """The model normalises, splits and merges; what is not UTF-8 becomes U+FFFD before.

    SentencePiece itself would replace each wrong byte, Python and the other kinds of tokenizers each
    longest part of a character.

    Args:
        spec: of kind SentencePiece.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__()
        if spec.sentencepiece is None:
            raise ValueError(f"a tokenizer of kind {spec.kind} has no SentencePiece model")
        self._model = SentencepieceOperation(spec.sentencepiece.model)
        self._space = spec.sentencepiece.space_in_front
        self._matcher = SpecialMatcher(spec.specials) if spec.specials else None

    def encode(self, text: tf.Tensor, with_special: bool) -> tf.RaggedTensor:
        """[B] string to [B, None] int32; special tokens become ids only if asked."""
        if with_special and self._matcher is not None:
            return self._with_special(tf.strings.unicode_decode(text, "UTF-8"))
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        return self._model.tokenize(text if self._space is None else _spaced(text))

    def encode_bare(self, text: tf.Tensor) -> tf.RaggedTensor:
        """[B] string to [B, None] int32; nothing but text comes of text."""
        return self.encode(text, with_special=False)

    def _with_special(self, points: tf.RaggedTensor) -> tf.RaggedTensor:
        """Ids of texts [B, None] of code points; what stands between special tokens is a text of its own."""
        matches = self._matcher.find(points.values, points.row_splits)
        cuts = tf.sort(tf.concat([points.row_splits, matches.start, matches.end], 0))
        parts = tf.RaggedTensor.from_row_splits(points.values, cuts, validate=False)
        # Of the parts that begin at a cut all but the last are empty, and empty parts have no ids.
        at = tf.searchsorted(cuts, matches.start, side="right")[:, None] - 1
        special = tf.tensor_scatter_nd_update(tf.fill([parts.nrows()], -1), at, matches.id)
        text = tf.where(special >= 0, "", tf.strings.unicode_encode(parts, "UTF-8"))
        text = self._part_spaced(text, cuts, points.row_splits)
        ids = tf.concat([self._model.tokenize(text), optional_column(special)], 1)
        rows = tf.gather(ids.row_splits, tf.searchsorted(cuts, points.row_splits))
        return tf.RaggedTensor.from_row_splits(ids.values, rows, validate=False)

    def _part_spaced(self, text: tf.Tensor, cuts: tf.Tensor, row_splits: tf.Tensor) -> tf.Tensor:
        if self._space != SpaceInFront.FIRST:
            return text if self._space is None else _spaced(text)
        begin = tf.gather(row_splits, tf.searchsorted(row_splits, cuts[:-1], side="right") - 1) == cuts[:-1]
        return tf.where(begin, _spaced(text), text)


def _spaced(text: tf.Tensor) -> tf.Tensor:
    """[B] string with a space in front of what is not empty and begins with none."""
    spaced = [tf.strings.substr(text, 0, len(space.encode())) == space for space in (" ", SPACE)]
    unchanged = tf.reduce_any([text == "", *spaced], 0)
    return tf.where(unchanged, text, tf.strings.join([" ", text]))
