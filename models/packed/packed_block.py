"""PackedBlock: a transformer block on weights in serving's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from models.block_computation import BlockComputation

if TYPE_CHECKING:
    from models.packed.packed_decoder import PackedDecoder


class PackedBlock(BlockComputation):
    """A block of a packed decoder.

    Args:
        decoder: whose variables it reads.
        index: its number.
    """

    def __init__(self, decoder: PackedDecoder, index: int) -> None:
        self.config = decoder.config
        self._decoder = decoder
        self._prefix = f"blocks/{index}/"

    def product(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Implements `BlockComputation`."""
        return self._decoder.product(self._prefix + name, x)

    def vector(self, name: str) -> tf.Tensor:
        """Implements `BlockComputation`."""
        return self._decoder.vector(self._prefix + name)
