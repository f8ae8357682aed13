"""SharedSteps: what several signatures do alike, traced once for all of them."""

from __future__ import annotations

import tensorflow as tf

from models.decode_loop import DecodedSteps, decode_steps
from models.decoder_computation import DecoderComputation
from models.paged_attention import Prefix
from models.sampling import SAMPLING_DTYPES, Sampled, SamplingRows, sample


class SharedSteps(tf.Module):
    """The choice of tokens and the decode loop as functions that signatures call.

    Without it every signature holds a copy of each: a larger file, a slower export, more memory at
    load. It lives as long as one export: names of functions tell their age, and an older trace of
    another export would make equal exports differ (decision 014).

    Args:
        decoder: the network.
    """

    def __init__(self, decoder: DecoderComputation) -> None:
        super().__init__(name="shared_steps")
        config = decoder.config
        logits = tf.TensorSpec([None, config.vocab_size], tf.float32)
        row = tf.TensorSpec([None], tf.int32)
        rows = SamplingRows(*(tf.TensorSpec([None], dtype) for dtype in SAMPLING_DTYPES))
        layer = tf.TensorSpec([None, config.num_kv_heads, None, config.head_dim], tf.float32)
        prefix = Prefix(
            [layer] * config.num_layers,
            [layer] * config.num_layers,
            tf.TensorSpec([None, 1, 1, None], tf.float32),
            tf.TensorSpec([None, None], tf.int32),
        )
        self._sample = tf.function(sample, input_signature=[logits, rows, row], autograph=False)
        self._sample_changed = tf.function(
            sample, input_signature=[logits, rows, row, logits], autograph=False
        )
        self._decode = tf.function(
            lambda *inputs: decode_steps(decoder, *inputs, choose=self.sample),
            input_signature=[row, row, prefix, rows, tf.TensorSpec([], tf.int32)],
            autograph=False,
        )

    def sample(
        self, raw_logits: tf.Tensor, rows: SamplingRows, position: tf.Tensor, logits: tf.Tensor | None = None
    ) -> Sampled:
        """`models.sampling.sample`, for the decoder's vocabulary."""
        if logits is None:
            return self._sample(raw_logits, rows, position)
        return self._sample_changed(raw_logits, rows, position, logits)

    def decode(
        self, last_id: tf.Tensor, length: tf.Tensor, prefix: Prefix, rows: SamplingRows, steps: tf.Tensor
    ) -> DecodedSteps:
        """`models.decode_loop.decode_steps` of the decoder."""
        return self._decode(last_id, length, prefix, rows, steps)
