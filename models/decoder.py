"""Decoder: the one network of training, scoring and serving."""

from __future__ import annotations

import keras
import tensorflow as tf

from models.attention import causal_mask
from models.decoder_block import DecoderBlock, linear, rms_norm
from models.decoder_config import DecoderConfig


class Decoder(keras.Model):
    """A decoder-only transformer, driven by its config.

    Args:
        config: sizes and constants.
        initializer: name of a Keras initializer for all matrices, e.g. "zeros" for weights that are
            about to be read from a file; None draws from a normal of deviation 0.02.

    Serving builds its signatures from the parts (`embed`, `blocks[i].project`, `blocks[i].finish`,
    `head`), training and scoring call the whole or `features` and `head`: one implementation.
    """

    def __init__(self, config: DecoderConfig, initializer: str | None = None, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.config = config
        shape = (config.vocab_size, config.hidden_size)
        self.embedding = self._matrix("embedding", shape, initializer)
        self.blocks = [
            DecoderBlock(config, initializer, name=f"block_{index}") for index in range(config.num_layers)
        ]
        self.final_norm = self.add_weight(shape=(config.hidden_size,), initializer="ones", name="final_norm")
        self.head_kernel = None if config.tied else self._matrix("head", shape[::-1], initializer)
        self.built = True

    def _matrix(self, name: str, shape: tuple[int, int], initializer: str | None) -> keras.Variable:
        start = initializer or keras.initializers.RandomNormal(stddev=0.02)
        return self.add_weight(shape=shape, initializer=start, name=name)

    def embed(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the embedding: ids [B, T] int32 → [B, T, E] float32."""
        # Gathering from the variable itself would switch it to copy-on-read, and the tied head
        # would then copy the whole table at every call.
        return tf.gather(tf.convert_to_tensor(self.embedding), ids)

    def features(
        self, ids: tf.Tensor, positions: tf.Tensor | None = None, segment_ids: tf.Tensor | None = None
    ) -> tf.Tensor:
        """The residual stream after the last block, which `head` turns into logits.

        Args:
            ids: [B, T] int32.
            positions: [B, T] int32; 0 … T − 1 if None.
            segment_ids: [B, T] int32: packed documents that must not see each other, if given.

        Returns:
            [B, T, E] float32.
        """
        if positions is None:
            positions = tf.range(tf.shape(ids)[1])[None]
        mask = causal_mask(tf.shape(ids)[1], segment_ids)
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, positions, mask)
        return x

    def head(self, x: tf.Tensor) -> tf.Tensor:
        """Final norm and output matrix: [B, T, E] → logits [B, T, V] float32."""
        x = rms_norm(x, self.final_norm, self.config.norm_eps)
        if self.head_kernel is None:
            return linear(x, self.embedding, transpose=True)
        return linear(x, self.head_kernel)

    def call(
        self, ids: tf.Tensor, positions: tf.Tensor | None = None, segment_ids: tf.Tensor | None = None
    ) -> tf.Tensor:
        """Logits of every position; arguments as in `features`.

        Returns:
            [B, T, V] float32; [b, t] scores the id that follows ids[b, : t + 1].
        """
        return self.head(self.features(ids, positions, segment_ids))

    def named_weights(self) -> dict[str, keras.Variable]:
        """Every weight by the name that a family's weight map uses."""
        names = {"embedding": self.embedding, "final_norm": self.final_norm}
        for index, block in enumerate(self.blocks):
            for weight in block.weights:
                names[f"blocks/{index}/{weight.name}"] = weight
        if self.head_kernel is not None:
            names["head"] = self.head_kernel
        return names
