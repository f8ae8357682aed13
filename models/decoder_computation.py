"""DecoderComputation: what a decoder computes, whatever form its weights lie in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import tensorflow as tf

from models.attention import causal_mask
from models.block_computation import BlockComputation, apply_norm
from models.decoder_config import DecoderConfig


class DecoderComputation(ABC):
    """Embedding, blocks and head of a decoder-only transformer.

    A mixin: whoever owns the weights gives `config`, `blocks`, `token_rows`, `logits` and `vector`.
    Serving builds its signatures from the parts (`embed`, `blocks[i].project`, `blocks[i].finish`,
    `head`), training and scoring call `features` and `head`: one implementation.
    """

    config: DecoderConfig
    blocks: Sequence[BlockComputation]

    @abstractmethod
    def token_rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the embedding: ids [...] int32 → [..., E] float32."""

    @abstractmethod
    def position_rows(self, positions: tf.Tensor) -> tf.Tensor:
        """Rows of the learned position table: positions [...] int32 → [..., E] float32."""

    @abstractmethod
    def logits(self, x: tf.Tensor) -> tf.Tensor:
        """Product with the output matrix: [B, T, E] → [B, T, V] float32."""

    @abstractmethod
    def vector(self, name: str) -> tf.Tensor:
        """The norm weight `name`: [E] float32."""

    def embed(self, ids: tf.Tensor, positions: tf.Tensor | None = None) -> tf.Tensor:
        """Where the residual stream begins.

        Args:
            ids: [B, T] int32.
            positions: [B, T] or [1, T] int32; 0 … T − 1 if None. Matters to learned positions only;
                one beyond their table, as only padding has it, gets the last row.

        Returns:
            [B, T, E] float32.
        """
        x = self.token_rows(ids)
        if self.config.parts.positions != "learned":
            return x
        if positions is None:
            positions = tf.range(tf.shape(ids)[1])[None]
        return x + self.position_rows(tf.minimum(positions, self.config.max_length - 1))

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
            x = self.run_block(block, x, positions, mask)
        return x

    def run_block(
        self, block: BlockComputation, x: tf.Tensor, positions: tf.Tensor, mask: tf.Tensor
    ) -> tf.Tensor:
        """One block over a full sequence: [B, T, E] → [B, T, E]."""
        return block.run(x, positions, mask)

    def final(self, x: tf.Tensor) -> tf.Tensor:
        """The final norm, whose outputs the output matrix takes: [B, T, E] → [B, T, E]."""
        return apply_norm(self, "final_norm", x)

    def head(self, x: tf.Tensor) -> tf.Tensor:
        """Final norm and output matrix: [B, T, E] → logits [B, T, V] float32."""
        return self.logits(self.final(x))
