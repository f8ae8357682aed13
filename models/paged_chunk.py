"""PagedChunk: several new tokens per row over blocks that hold what came before them."""

from __future__ import annotations

import tensorflow as tf

from models.attention import attend, causal_mask, inside
from models.decoder_computation import DecoderComputation
from models.paged_cache import PagedCache

_CHUNK_SPECS = (
    tf.TensorSpec([None, None], tf.int32),
    tf.TensorSpec([None], tf.int32),
    tf.TensorSpec([None], tf.int32),
    tf.TensorSpec([None, None], tf.int32),
)


class PagedChunk(tf.Module):
    """Runs a chunk of ids through all blocks and writes its keys and values.

    Args:
        decoder: the network.
        cache: the KV memory.
    """

    def __init__(self, decoder: DecoderComputation, cache: PagedCache) -> None:
        super().__init__(name="paged_chunk")
        self.decoder = decoder
        self.cache = cache
        # One trace for all signatures that run a chunk: each has its own head only.
        self._run = tf.function(self._features, input_signature=_CHUNK_SPECS, autograph=False)

    def features(
        self, ids: tf.Tensor, lengths: tf.Tensor, start: tf.Tensor, block_table: tf.Tensor
    ) -> tf.Tensor:
        """The residual stream after the last block, the chunk's KV written.

        Args:
            ids: [B, T] int32; what lies beyond a row's length must be ids all the same.
            lengths: [B] int32, valid ids; KV of the rest goes to the null block.
            start: [B] int32, position of the first one; the blocks hold what lies before it.
            block_table: [B, K] int32.

        Returns:
            [B, T, E] float32.
        """
        return self._run(ids, lengths, start, block_table)

    def _features(
        self, ids: tf.Tensor, lengths: tf.Tensor, start: tf.Tensor, block_table: tf.Tensor
    ) -> tf.Tensor:
        width = tf.shape(ids)[1]
        blocks = self.cache.blocks_of(block_table, start)
        slots = self.cache.slots_of(block_table, start, lengths, width)
        windows = self.decoder.config.windows
        cached = tf.shape(blocks)[2] * self.cache.block_size
        masks = {window: _chunk_mask(start, width, cached, window) for window in dict.fromkeys(windows)}
        positions = start[:, None] + tf.range(width)[None]
        x = self.decoder.embed(ids, positions)
        for layer, block in enumerate(self.decoder.blocks):
            q, k, v = block.project(x, positions)
            old_k, old_v = self.cache.gather(layer, blocks)
            keys, values = tf.concat([old_k, k], axis=2), tf.concat([old_v, v], axis=2)
            attention = attend(q, keys, values, masks[windows[layer]])
            self.cache.scatter(layer, slots, k, v)
            x = block.finish(x, attention)
        return x


def _chunk_mask(start: tf.Tensor, width: tf.Tensor, prefix: tf.Tensor, window: int | None) -> tf.Tensor:
    """Who sees whom, [B, T, P + T] bool: a row's prefix, and the chunk causally, as far as the window."""
    column, old = tf.range(width), tf.range(prefix)[None, None]
    position = start[:, None, None] + column[None, :, None]
    live = (old < start[:, None, None]) & inside(position - old, window)
    rows = tf.shape(start)[0]
    chunk = tf.broadcast_to(causal_mask(width, window=window), tf.stack([rows, width, width]))
    return tf.concat([live, chunk], axis=2)
