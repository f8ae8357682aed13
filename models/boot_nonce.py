"""BootNonce: a number that tells one life of a model's KV memory from every other."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.python.ops import resource_variable_ops as rvo  # no public API creates handle data

_INT64 = tf.int64


class BootNonce(tf.saved_model.experimental.TrackableResource):
    """An int64 drawn when a model is loaded and whenever its KV memory is reset.

    A caller that sees it change knows that all KV memory is gone. It differs between loads and
    processes even if a global seed was set at export.

    Args:
        name: unique within the process: the resource is found by it.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._nonce_name = name
        # The property creates the handle; without it a loader finds nothing to restore.
        _ = self.resource_handle

    def _create_resource(self) -> tf.Tensor:
        eager = tf.executing_eagerly()
        return rvo._variable_handle_from_shape_and_dtype(
            tf.TensorShape([]),
            _INT64,
            None if eager else self._nonce_name,
            self._nonce_name,
            graph_mode=not eager,
        )

    def _initialize(self) -> None:
        self.renew()

    def _destroy_resource(self) -> None:
        tf.raw_ops.DestroyResourceOp(resource=self.resource_handle, ignore_lookup_error=True)

    def renew(self) -> None:
        """Draw a new value."""
        # A seeded random op repeats itself in every process: seeds of zero ask the kernel for
        # entropy whatever the global seed is, and the clock is mixed in all the same.
        drawn = tf.raw_ops.RandomUniformInt(
            shape=tf.constant([], tf.int32),
            minval=tf.constant(_INT64.min, _INT64),
            maxval=tf.constant(_INT64.max, _INT64),
            seed=0,
            seed2=0,
        )
        mixed = tf.bitwise.bitwise_xor(drawn, tf.bitcast(tf.timestamp(), _INT64))
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=mixed)

    def read(self) -> tf.Tensor:
        """The current value, a scalar int64."""
        value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=_INT64)
        return tf.ensure_shape(value, [])
