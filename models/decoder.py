"""Decoder: the network as a Keras model, which training and checkpoints use."""

from __future__ import annotations

import keras
import tensorflow as tf

from models.block_computation import BlockComputation
from models.decoder_block import DecoderBlock, start
from models.decoder_computation import DecoderComputation
from models.decoder_config import DecoderConfig
from models.decoder_shapes import top_shapes
from models.linear import linear


class Decoder(keras.Model, DecoderComputation):
    """A decoder-only transformer, driven by its config, on float32 variables that can be trained.

    Args:
        config: sizes and constants.
        initializer: name of a Keras initializer for all matrices, e.g. "zeros" for weights that are
            about to be read from a file; None draws from a normal of deviation 0.02.
    """

    def __init__(self, config: DecoderConfig, initializer: str | None = None, **kwargs: object) -> None:
        # Keras would number the decoders of a process, and a package's bytes would tell which it was.
        super().__init__(**{"name": "decoder", **kwargs})
        self.config = config
        self.blocks = [
            DecoderBlock(config, initializer, name=f"block_{index}") for index in range(config.num_layers)
        ]
        for name, shape in top_shapes(config).items():
            weight = self.add_weight(shape=shape, initializer=start(name, initializer), name=name)
            setattr(self, _attribute(name), weight)
        self.built = True

    def token_rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Implements `DecoderComputation`."""
        # Gathering from the variable itself would switch it to copy-on-read, and the tied head
        # would then copy the whole table at every call.
        return tf.gather(tf.convert_to_tensor(self.embedding), ids)

    def position_rows(self, positions: tf.Tensor) -> tf.Tensor:
        """Implements `DecoderComputation`."""
        return tf.gather(tf.convert_to_tensor(self.position_embedding), positions)

    def logits(self, x: tf.Tensor) -> tf.Tensor:
        """Implements `DecoderComputation`."""
        if self.config.tied:
            return linear(x, self.embedding, transpose=True)
        return linear(x, self.head_kernel)

    def vector(self, name: str) -> tf.Tensor:
        """Implements `DecoderComputation`."""
        return tf.convert_to_tensor(getattr(self, name))

    def run_block(
        self, block: BlockComputation, x: tf.Tensor, positions: tf.Tensor, mask: tf.Tensor
    ) -> tf.Tensor:
        """Implements `DecoderComputation`, as a call of the layer."""
        return block(x, positions, mask)

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
        names = {name: getattr(self, _attribute(name)) for name in top_shapes(self.config)}
        for index, block in enumerate(self.blocks):
            for weight in block.weights:
                names[f"blocks/{index}/{weight.name}"] = weight
        return names


def _attribute(name: str) -> str:
    """Attribute of a weight outside the blocks; `Decoder.head` is the method."""
    return "head_kernel" if name == "head" else name
