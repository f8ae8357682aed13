"""Decoder: the one network of training, scoring and serving."""

from __future__ import annotations

import keras
import tensorflow as tf

from models.attention import causal_mask
from models.decoder_block import DecoderBlock, linear, norm, start
from models.decoder_config import DecoderConfig
from models.decoder_shapes import top_shapes


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

    def embed(self, ids: tf.Tensor, positions: tf.Tensor | None = None) -> tf.Tensor:
        """Where the residual stream begins.

        Args:
            ids: [B, T] int32.
            positions: [B, T] or [1, T] int32; 0 … T − 1 if None. Matters to learned positions only;
                one beyond their table, as only padding has it, gets the last row.

        Returns:
            [B, T, E] float32.
        """
        # Gathering from the variable itself would switch it to copy-on-read, and the tied head
        # would then copy the whole table at every call.
        x = tf.gather(tf.convert_to_tensor(self.embedding), ids)
        if self.config.parts.positions != "learned":
            return x
        if positions is None:
            positions = tf.range(tf.shape(ids)[1])[None]
        rows = tf.minimum(positions, self.config.max_length - 1)
        return x + tf.gather(tf.convert_to_tensor(self.position_embedding), rows)

    def masks(self, length: tf.Tensor | int, segment_ids: tf.Tensor | None = None) -> list[tf.Tensor]:
        """Who sees whom in a full sequence, layer by layer; arguments as in `causal_mask`."""
        made = {
            window: causal_mask(length, segment_ids, window) for window in dict.fromkeys(self.config.windows)
        }
        return [made[window] for window in self.config.windows]

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
        x = self.embed(ids, positions)
        for block, mask in zip(self.blocks, self.masks(tf.shape(ids)[1], segment_ids), strict=True):
            x = block(x, positions, mask)
        return x

    def head(self, x: tf.Tensor) -> tf.Tensor:
        """Final norm and output matrix: [B, T, E] → logits [B, T, V] float32."""
        x = norm(self, "final_norm", x)
        if self.config.tied:
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
        names = {name: getattr(self, _attribute(name)) for name in top_shapes(self.config)}
        for index, block in enumerate(self.blocks):
            for weight in block.weights:
                names[f"blocks/{index}/{weight.name}"] = weight
        return names


def _attribute(name: str) -> str:
    """Attribute of a weight outside the blocks; `Decoder.head` is the method."""
    return "head_kernel" if name == "head" else name
