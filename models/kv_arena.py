"""KVArena: KV memory that lives beside a SavedModel's graph and never in its checkpoint."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.python.ops import resource_variable_ops as rvo  # no public API creates handle data


class KVArena(tf.saved_model.experimental.TrackableResource):
    """One resource variable of KV blocks, zeroed by the loader and freed with the model.

    It is touched by gather and scatter only. A dense read after a scatter would copy all of it, and
    a dense assign replaces its buffer; `zero` is the one exception, off the hot path.

    Args:
        shape: [num_blocks, kv_heads, block_size, head_dim].
        dtype: of the elements.
        name: unique within the process: the resource is found by it.

    Nothing is allocated before `zero` has run: a loader does that, an eager caller calls it himself.
    """

    def __init__(self, shape: tuple[int, ...], dtype: tf.DType, name: str) -> None:
        super().__init__()
        self._arena_shape = tf.TensorShape(shape)
        self._arena_dtype = dtype
        self._arena_name = name
        # The property creates the handle; without it a loader finds nothing to restore.
        _ = self.resource_handle

    def _create_resource(self) -> tf.Tensor:
        eager = tf.executing_eagerly()
        return rvo._variable_handle_from_shape_and_dtype(
            self._arena_shape,
            self._arena_dtype,
            None if eager else self._arena_name,
            self._arena_name,
            graph_mode=not eager,
        )

    def _initialize(self) -> None:
        self.zero()

    def _destroy_resource(self) -> None:
        # Without this every load and unload leaks the arena.
        tf.raw_ops.DestroyResourceOp(resource=self.resource_handle, ignore_lookup_error=True)

    def zero(self) -> None:
        """Set every element to zero."""
        # A stateful op: tf.zeros would be folded into a constant that stays in memory beside the arena.
        zeros = tf.raw_ops.Empty(shape=self._arena_shape.as_list(), dtype=self._arena_dtype, init=True)
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=zeros)

    def gather(self, index: tf.Tensor) -> tf.Tensor:
        """Blocks of heads.

        Args:
            index: [..., 2] int32, (block, head).

        Returns:
            [..., block_size, head_dim].
        """
        found = tf.raw_ops.ResourceGatherNd(
            resource=self.resource_handle, indices=index, dtype=self._arena_dtype
        )
        return tf.ensure_shape(found, index.shape[:-1].concatenate(self._arena_shape[2:]))

    def scatter(self, index: tf.Tensor, values: tf.Tensor) -> None:
        """Overwrite single positions.

        Args:
            index: [..., 3] int32, (block, head, offset).
            values: [..., head_dim].
        """
        tf.raw_ops.ResourceScatterNdUpdate(ref=self.resource_handle, indices=index, updates=values)

    def copy(self, source: tf.Tensor, target: tf.Tensor) -> None:
        """Copy whole blocks: source [P] int32 → target [P] int32."""
        blocks = tf.raw_ops.ResourceGather(
            resource=self.resource_handle, indices=source, dtype=self._arena_dtype
        )
        tf.raw_ops.ResourceScatterUpdate(resource=self.resource_handle, indices=target, updates=blocks)
