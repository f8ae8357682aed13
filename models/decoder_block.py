"""DecoderBlock: one pre-norm transformer block as a Keras layer."""

from __future__ import annotations

from collections.abc import Callable

import keras
import tensorflow as tf

from models.block_computation import BlockComputation
from models.decoder_config import DecoderConfig
from models.decoder_shapes import BIAS, block_shapes
from models.linear import linear


def start(name: str, initializer: str | None) -> str | keras.initializers.Initializer:
    """Initializer of a weight: kernels as asked for, scales of norms 1, biases 0."""
    if name.endswith(BIAS):
        return "zeros"
    if name.endswith("norm"):
        return "ones"
    return initializer or keras.initializers.RandomNormal(stddev=0.02)


class DecoderBlock(keras.layers.Layer, BlockComputation):
    """A block on float32 variables that can be trained.

    Args:
        config: the decoder's; its `parts` say which norm, positions, MLP and biases.
        initializer: of the kernels; None draws from a normal of deviation 0.02.

    `adapters` holds, by kernel name, what is added to that kernel's product: [B, T, in] → [B, T, out].
    Kernels are [in, out]; query, key and value share one, as do gate and up.
    """

    def __init__(self, config: DecoderConfig, initializer: str | None = None, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.config = config
        self.adapters: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {}
        for name, shape in block_shapes(config).items():
            setattr(self, name, self.add_weight(shape=shape, initializer=start(name, initializer), name=name))

    def product(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Implements `BlockComputation`, with what the kernel's adapter adds."""
        y = linear(x, getattr(self, name))
        adapter = self.adapters.get(name)
        return y if adapter is None else y + adapter(x)

    def vector(self, name: str) -> tf.Tensor:
        """Implements `BlockComputation`."""
        return tf.convert_to_tensor(getattr(self, name))

    def call(self, x: tf.Tensor, positions: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """The block over a full sequence; `mask` as in `models.attention.attend`."""
        return self.run(x, positions, mask)
