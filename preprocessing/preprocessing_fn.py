"""preprocessing_fn: what tf.Transform does with an example, named to TFX by its dotted path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_transform as tft

from models.contract.segment import LEARNED, SPECIAL
from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from preprocessing.tokenizers.fingerprint import files_fingerprint
from preprocessing.tokenizers.load import read_spec

PREPROCESSING_FN = "preprocessing.preprocessing_fn.preprocessing_fn"

TOKENIZER = "tokenizer"
"""Key of `custom_config`: folder of the checkpoint whose tokenizer makes the ids."""

TOKENIZER_FINGERPRINT = "tokenizer_fingerprint"
"""Key of `custom_config`: another tokenizer, end id or chat template in the same folder makes Transform run
again."""

_KEPT = ("source", "path", "group")
_KEPT_NUMBERS: dict[str, tuple[tf.DType, float]] = {"weight": (tf.float32, 1.0), "span": (tf.int64, 0)}
"""Type, and value where an example has none."""


def transform_config(checkpoint: Path) -> dict[str, str]:
    """`custom_config` of Transform for a checkpoint's tokenizer.

    Raises:
        CheckpointError: it has no tokenizer that can be reproduced exactly.
    """
    directory = checkpoint.absolute()
    return {TOKENIZER: str(directory), TOKENIZER_FINGERPRINT: files_fingerprint(read_spec(directory))}


def preprocessing_fn(inputs: dict[str, Any], custom_config: dict[str, Any]) -> dict[str, Any]:
    """Turn `text`, or the segments of a conversation, into ids by the tokenizer that serving uses.

    Args:
        inputs: `text`, `source`, `path`, `group`: one string per example, [B, 1] or sparse; where the
            corpus has them `weight` float, `span` int64 and, of conversations, `segments` string and
            `segment_kinds` int64 (`Segment.kind`), as many as there are, none for plain text.
        custom_config: names the tokenizer's folder (`transform_config`).

    Returns:
        `ids` int64 [B, None] ragged: of plain text without special tokens, of a conversation with those
        of its template and nothing else; `bytes` int64 [B, 1], the length of the text; `source`, `path`
        and `group` string [B, 1], for order and slices; `weight` and `span` [B, 1] if they were given.
        In a corpus with conversations `learned` int64 [B, None] ragged: of a conversation 1 or 0 for
        each id, of plain text, all of which is learned, nothing.
    """
    path = Path(custom_config[TOKENIZER])
    tokenizer = tft.make_and_track_object(lambda: load_tokenizer(path), name="tokenizer")
    text = _column(inputs["text"])
    outputs = {name: _column(inputs[name])[:, None] for name in _KEPT}
    for name, (dtype, absent) in _KEPT_NUMBERS.items():
        if name in inputs:
            outputs[name] = tf.cast(_column(inputs[name], absent), dtype)[:, None]
    outputs["bytes"] = tf.cast(tf.strings.length(text), tf.int64)[:, None]
    if "segments" not in inputs:
        outputs["ids"] = _encode(tokenizer, text).to_sparse()
        return outputs
    ids, learned = encode_conversations(
        tokenizer, text, _ragged(inputs["segments"]), _ragged(inputs["segment_kinds"])
    )
    return {**outputs, "ids": ids.to_sparse(), "learned": learned.to_sparse()}


def encode_conversations(
    tokenizer: GraphTokenizer, text: tf.Tensor, segments: tf.RaggedTensor, kinds: tf.RaggedTensor
) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Ids of conversations and plain texts, and which of them are learned.

    Args:
        tokenizer: whose special tokens the segments name; another one fails the step by name.
        text: [B] string, of use where there are no segments.
        segments: [B, None] string.
        kinds: [B, None] int64, `Segment.kind` of each.

    Returns:
        ids [B, None] int64, and learned [B, None] int64: 1 or 0 for each id, nothing for plain text.
    """
    ids = tf.RaggedTensorSpec([None], tf.int64, ragged_rank=0)
    return tf.map_fn(
        lambda one: _encode_one(tokenizer, *one),
        (text, segments, kinds),
        fn_output_signature=(ids, ids),
        parallel_iterations=1,
    )


def _encode_one(
    tokenizer: GraphTokenizer, text: tf.Tensor, segments: tf.Tensor, kinds: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    plain = tf.cast(tf.equal(tf.size(segments), 0), tf.int32)
    segments = tf.concat([segments, tf.repeat(text, plain)], 0)
    kinds = tf.concat([kinds, tf.repeat(tf.constant(0, tf.int64), plain)], 0)
    special = tf.bitwise.bitwise_and(kinds, SPECIAL) > 0
    learned = tf.cast(tf.bitwise.bitwise_and(kinds, LEARNED) > 0, tf.int64)
    splits = tf.range(tf.size(segments, tf.int64) + 1)
    ids = tokenizer.encode_segments(segments, _special_ids(tokenizer, segments, special), splits)
    lengths = ids.row_lengths() * tf.cast(1 - plain, tf.int64)
    return tf.cast(ids.values, tf.int64), tf.repeat(learned, lengths)


def _special_ids(tokenizer: GraphTokenizer, segments: tf.Tensor, special: tf.Tensor) -> tf.Tensor:
    """The id of each segment that is a special token, [S] int32; -1 for text."""
    known = tokenizer.control_ids
    names = tf.constant(list(known), tf.string)
    values = tf.constant(list(known.values()), tf.int32)
    found = tf.reduce_max(tf.where(segments[:, None] == names, values, -1), axis=1)
    check = tf.debugging.Assert(
        tf.reduce_all((found >= 0) | ~special),
        ["the tokenizer lacks a special token of the chat template:", tf.boolean_mask(segments, special)],
    )
    with tf.control_dependencies([check]):
        return tf.where(special, found, -1)


def _encode(tokenizer: GraphTokenizer, text: tf.Tensor) -> tf.RaggedTensor:
    """Ids of each text; one text at a time, so that memory follows the longest, not the batch."""
    return tf.map_fn(
        lambda one: tf.cast(tokenizer.encode(one[None]).values, tf.int64),
        text,
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int64, ragged_rank=0),
        parallel_iterations=1,
    )


def _ragged(values: tf.Tensor | tf.SparseTensor) -> tf.RaggedTensor:
    """As many values per example as there are, [B, None]."""
    if isinstance(values, tf.SparseTensor):
        return tf.RaggedTensor.from_sparse(values)
    return tf.RaggedTensor.from_tensor(tf.reshape(values, [tf.shape(values)[0], -1]))


def _column(values: tf.Tensor | tf.SparseTensor, absent: str | float = "") -> tf.Tensor:
    """One value per example, [B]."""
    if isinstance(values, tf.SparseTensor):
        values = tf.sparse.to_dense(tf.sparse.reset_shape(values, [values.dense_shape[0], 1]), absent)
    return tf.reshape(values, [-1])
