"""PagedCache: keys and values of all layers in fixed-size blocks, found through block tables."""

from __future__ import annotations

import secrets

import tensorflow as tf

from models.boot_nonce import BootNonce
from models.contract.manifest import ModelDims
from models.contract.signatures import NULL_BLOCK
from models.kv_arena import KVArena


class PagedCache(tf.Module):
    """One K and one V arena per layer, and the nonce of their present life.

    Args:
        dims: sizes of the network.
        num_blocks: blocks per arena, the null block counted.
        block_size: tokens per block.
        owner: what tells its arenas from those of other models in the process; None draws something.

    A block table [B, K] int32 names the blocks of each row in order; positions beyond it, like
    padding, belong to the null block. Source of the idea: Kwon et al., "PagedAttention" (2023).
    """

    def __init__(self, dims: ModelDims, num_blocks: int, block_size: int, owner: str | None = None) -> None:
        super().__init__(name="paged_cache")
        self.block_size = block_size
        self.kv_heads = dims.num_kv_heads
        self.head_dim = dims.head_dim
        shape = (num_blocks, dims.num_kv_heads, block_size, dims.head_dim)
        # Arenas of two packages in one process must not find each other by name.
        owner = owner or secrets.token_hex(8)
        layers = range(dims.num_layers)
        self.keys = [KVArena(shape, tf.float32, f"kv_{owner}_key_{layer}") for layer in layers]
        self.values = [KVArena(shape, tf.float32, f"kv_{owner}_value_{layer}") for layer in layers]
        self.nonce = BootNonce(f"kv_{owner}_nonce")

    def reset(self) -> None:
        """Zero all blocks and draw a new nonce."""
        for arena in (*self.keys, *self.values):
            arena.zero()
        self.nonce.renew()

    def copy(self, source: tf.Tensor, target: tf.Tensor) -> None:
        """Copy whole blocks in all layers: source [P] int32 → target [P] int32."""
        for arena in (*self.keys, *self.values):
            arena.copy(source, target)

    def blocks_of(self, block_table: tf.Tensor, lengths: tf.Tensor | None = None) -> tf.Tensor:
        """Index of the blocks that hold the first `lengths` positions of the longest row.

        Args:
            block_table: [B, K] int32.
            lengths: [B] int32; None takes all blocks of the table.

        Returns:
            [B, Hkv, K', 2] int32 for `gather`; K' ≤ K.
        """
        if lengths is not None:
            live = -(-tf.reduce_max(lengths) // self.block_size)
            block_table = block_table[:, : tf.maximum(live, 0)]
        blocks = tf.repeat(block_table[:, None], self.kv_heads, axis=1)
        heads = tf.range(self.kv_heads)[None, :, None]
        return tf.stack([blocks, tf.broadcast_to(heads, tf.shape(blocks))], axis=-1)

    def slots_of(
        self, block_table: tf.Tensor, start: tf.Tensor, count: tf.Tensor, width: tf.Tensor
    ) -> tf.Tensor:
        """Index of the positions start … start + count − 1 of each row.

        Args:
            block_table: [B, K] int32.
            start: [B] int32, first position.
            count: [B] int32, valid positions; the rest falls into the null block.
            width: scalar T, positions per row.

        Returns:
            [B, Hkv, T, 3] int32 for `scatter`.
        """
        column = tf.range(width)[None]
        position = start[:, None] + column
        entry = position // self.block_size
        columns = tf.shape(block_table)[1]
        inside = (column < count[:, None]) & (entry < columns)
        block = tf.gather(block_table, tf.clip_by_value(entry, 0, columns - 1), batch_dims=1)
        block = tf.where(inside, block, NULL_BLOCK)[:, None]
        shape = tf.stack([tf.shape(position)[0], self.kv_heads, width])
        head = tf.range(self.kv_heads)[None, :, None]
        offset = (position % self.block_size)[:, None]
        return tf.stack([tf.broadcast_to(part, shape) for part in (block, head, offset)], axis=-1)

    def gather(self, layer: int, blocks: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Keys and values of `blocks_of`'s index: two tensors [B, Hkv, K' · block_size, D]."""
        shape = tf.shape(blocks)
        joined = tf.stack([shape[0], self.kv_heads, shape[2] * self.block_size, self.head_dim])
        keys, values = (arena[layer].gather(blocks) for arena in (self.keys, self.values))
        flat = [tf.reshape(found, joined) for found in (keys, values)]
        known = [None, self.kv_heads, None, self.head_dim]
        return tf.ensure_shape(flat[0], known), tf.ensure_shape(flat[1], known)

    def scatter(self, layer: int, slots: tf.Tensor, keys: tf.Tensor, values: tf.Tensor) -> None:
        """Write keys and values [B, Hkv, T, D] to `slots_of`'s index."""
        self.keys[layer].scatter(slots, keys)
        self.values[layer].scatter(slots, values)
