"""LanguageModel: a decoder with the loss of next-token training."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import keras
import tensorflow as tf

from models.decoder import Decoder
from models.lora.low_rank_adapters import LowRankAdapters


class LanguageModel(keras.Model):
    """Trains a decoder on packed rows through `fit`.

    Args:
        decoder: whose weights are trained.
        adapters: attached to the decoder, whose weights are trained instead, if given.

    Inputs are `ids`, `positions` and `segment_ids`, int32 [B, T]; targets are labels int32 [B, T]
    and weights float32 [B, T]. The loss is the sum of weighted negative log-likelihoods over B·T, a
    constant, so that each label counts the same in whichever pass and step it lies. The metric
    `token_loss` is the mean over labels, in nats.
    """

    def __init__(self, decoder: Decoder, adapters: LowRankAdapters | None = None) -> None:
        super().__init__()
        self.decoder = decoder
        self.adapters = adapters
        self.token_loss = keras.metrics.Mean(name="token_loss")
        self.built = True

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Logits [B, T, V] float32."""
        dropping = training and self.adapters is not None and self.adapters.dropout > 0
        with self.adapters.dropping(self.optimizer.iterations) if dropping else nullcontext():
            return self.decoder(inputs["ids"], inputs["positions"], inputs["segment_ids"])

    def compute_loss(
        self,
        x: Any = None,
        y: tf.Tensor | None = None,
        y_pred: tf.Tensor | None = None,
        sample_weight: tf.Tensor | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        """The loss of one pass, a scalar; arguments as in Keras."""
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=y_pred)
        self.token_loss.update_state(nll, sample_weight)
        return tf.reduce_sum(nll * sample_weight) / tf.cast(tf.size(nll), nll.dtype)
