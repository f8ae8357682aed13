"""preprocessing_fn: what tf.Transform does with an example, named to TFX by its dotted path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_transform as tft

from preprocessing.tokenizers import load_tokenizer
from preprocessing.tokenizers.fingerprint import fingerprint
from preprocessing.tokenizers.load import read_spec

PREPROCESSING_FN = "preprocessing.preprocessing_fn.preprocessing_fn"

TOKENIZER = "tokenizer"
"""Key of `custom_config`: folder of the checkpoint whose tokenizer makes the ids."""

TOKENIZER_FINGERPRINT = "tokenizer_fingerprint"
"""Key of `custom_config`: another tokenizer in the same folder makes Transform run again."""

_KEPT = ("source", "path", "group")


def transform_config(checkpoint: Path) -> dict[str, str]:
    """`custom_config` of Transform for a checkpoint's tokenizer.

    Raises:
        CheckpointError: it has no tokenizer that can be reproduced exactly.
    """
    directory = checkpoint.absolute()
    return {TOKENIZER: str(directory), TOKENIZER_FINGERPRINT: fingerprint(read_spec(directory))}


def preprocessing_fn(inputs: dict[str, Any], custom_config: dict[str, Any]) -> dict[str, Any]:
    """Turn `text` into ids by the tokenizer that serving uses.

    Args:
        inputs: `text`, `source`, `path`, `group`: one string per example, [B, 1] or sparse.
        custom_config: names the tokenizer's folder (`transform_config`).

    Returns:
        `ids` int64 [B, None] ragged, without special tokens; `bytes` int64 [B, 1], the length of the
        text; `source`, `path` and `group` string [B, 1], for order and slices.
    """
    path = Path(custom_config[TOKENIZER])
    tokenizer = tft.make_and_track_object(lambda: load_tokenizer(path), name="tokenizer")
    text = _column(inputs["text"])
    outputs = {name: _column(inputs[name])[:, None] for name in _KEPT}
    outputs["ids"] = _encode(tokenizer, text).to_sparse()
    outputs["bytes"] = tf.cast(tf.strings.length(text), tf.int64)[:, None]
    return outputs


def _encode(tokenizer: Any, text: tf.Tensor) -> tf.RaggedTensor:
    """Ids of each text; one text at a time, so that memory follows the longest, not the batch."""
    return tf.map_fn(
        lambda one: tf.cast(tokenizer.encode(one[None]).values, tf.int64),
        text,
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int64, ragged_rank=0),
        parallel_iterations=1,
    )


def _column(values: tf.Tensor | tf.SparseTensor) -> tf.Tensor:
    """One string per example, [B]; an absent one is empty."""
    if isinstance(values, tf.SparseTensor):
        values = tf.sparse.to_dense(tf.sparse.reset_shape(values, [values.dense_shape[0], 1]), "")
    return tf.reshape(values, [-1])
