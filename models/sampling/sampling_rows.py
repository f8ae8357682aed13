"""SamplingRows: how the token of each row is chosen."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class SamplingRows(NamedTuple):
    """How each row's token is chosen; ranges as in `models.contract.sampling_params`.

    Args:
        temperature: [B] float32; 0 is greedy.
        top_k: [B] int32; 0 keeps all.
        top_p: [B] float32.
        min_p: [B] float32.
        seed: [B] int64.
    """

    temperature: tf.Tensor
    top_k: tf.Tensor
    top_p: tf.Tensor
    min_p: tf.Tensor
    seed: tf.Tensor

    def take(self, index: tf.Tensor) -> SamplingRows:
        """The rows of an index [R] int32, which may name one twice."""
        return SamplingRows(*(tf.gather(value, index) for value in self))

    @property
    def divisor(self) -> tf.Tensor:
        """What logits are divided by, [B]: 1 for greedy rows, whose draw nobody uses."""
        return tf.where(self.temperature > 0, self.temperature, 1.0)


SAMPLING_DTYPES = SamplingRows(tf.float32, tf.int32, tf.float32, tf.float32, tf.int64)
