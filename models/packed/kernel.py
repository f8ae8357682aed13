"""Kernel: a stored matrix and its products."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_optimization_barrier  # no public API has it

from models.packed.kernel_form import KernelForm

_CORES = 8
"""Slices of the outputs that XLA may spread over cores; it runs one row's product on one of them."""

_TINY = 1e-30


class Kernel:
    """Tensors of a matrix, for graphs that XLA compiles and for those it does not.

    Args:
        form: how the values lie.
        values: [in, out] or [out, in], of the form's dtype.
        scales: [out] float32 of int8 values.
        compiled: whether the graph is compiled by XLA.
    """

    def __init__(
        self, form: KernelForm, values: tf.Tensor, scales: tf.Tensor | None = None, *, compiled: bool = False
    ) -> None:
        self.form = form
        self._values = values
        self._scales = scales
        self._compiled = compiled

    @property
    def num_outputs(self) -> int:
        """Width of a product."""
        return self._values.shape[0 if self.form.outputs_first else 1]

    def product(self, x: tf.Tensor) -> tf.Tensor:
        """Rows times the matrix: [M, in] float32 → [M, out] float32."""
        if self.form.rounded:
            return self._rounded_product(x)
        y = self._plain_product(x)
        return y if self._scales is None else y * self._scales

    def columns(self, ids: tf.Tensor) -> tf.Tensor:
        """Columns of the matrix, rows of an embedding: ids [...] int32 → [..., in] float32."""
        flat = tf.reshape(ids, [-1])
        found = (
            tf.gather(self._values, flat)
            if self.form.outputs_first
            else tf.transpose(tf.gather(self._values, flat, axis=1))
        )
        found = tf.cast(found, tf.float32)
        if self._scales is not None:
            found *= tf.gather(self._scales, flat)[:, None]
        return tf.reshape(found, tf.concat([tf.shape(ids), [found.shape[1]]], axis=0))

    def _plain_product(self, x: tf.Tensor) -> tf.Tensor:
        if self.form.dtype != "float32":
            return self._widened_product(x)
        if not self._compiled:
            return tf.matmul(x, self._values, transpose_b=self.form.outputs_first)
        if not self.form.outputs_first:
            # In this order XLA's product of few rows reads the matrix once, in the order it lies.
            return tf.transpose(tf.matmul(self._values, x, transpose_a=True, transpose_b=True))
        if x.shape[0] == 1 and self.num_outputs % _CORES == 0:
            return self._sliced_product(x)
        return tf.matmul(x, self._values, transpose_b=True)

    def _sliced_product(self, x: tf.Tensor) -> tf.Tensor:
        width = x.shape[1]
        slices = tf.reshape(self._values, [_CORES, self.num_outputs // _CORES, width])
        y = tf.matmul(tf.broadcast_to(x[None], [_CORES, 1, width]), slices, transpose_b=True)
        return tf.reshape(y, [1, self.num_outputs])

    def _widened_product(self, x: tf.Tensor) -> tf.Tensor:
        values = self._values
        if self._compiled:
            # Without the barrier XLA widens the matrix once, before a loop, and streams the wide one.
            values, x = xla_optimization_barrier([values, x])
        return tf.matmul(x, tf.cast(values, tf.float32), transpose_b=self.form.outputs_first)

    def _rounded_product(self, x: tf.Tensor) -> tf.Tensor:
        """Both sides in 8 bits; without XLA the same integers are multiplied as float32."""
        scale = tf.maximum(tf.reduce_max(tf.abs(x), axis=-1, keepdims=True), _TINY) / 127.0
        rounded = tf.round(x / scale)
        if self._compiled:
            rounded = tf.cast(rounded, tf.int8)
            y = tf.matmul(rounded, self._values, transpose_b=self.form.outputs_first, output_type=tf.int32)
            y = tf.cast(y, tf.float32)
        else:
            wide = tf.cast(self._values, tf.float32)
            y = tf.matmul(rounded, wide, transpose_b=self.form.outputs_first)
        return y * scale * self._scales
