"""Kernel: a stored matrix and its products."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_optimization_barrier  # no public API has it

from models.packed.kernel_form import KernelForm

_TINY = 1e-30


class Kernel:
    """Tensors of a matrix, for graphs that XLA compiles and for those it does not.

    Args:
        form: of the values.
        values: [out or more, in], of the form's dtype.
        scales: [out or more] float32, of int8 values.
        num_outputs: out.
        compiled: whether XLA compiles the graph.
        cores: slices of the outputs that a product of several rows is cut into, one for a core.
    """

    def __init__(
        self,
        form: KernelForm,
        values: tf.Tensor,
        scales: tf.Tensor | None = None,
        *,
        num_outputs: int,
        compiled: bool = False,
        cores: int = 2,
    ) -> None:
        self.num_outputs = num_outputs
        self._form = form
        self._values = values
        self._scales = scales
        self._compiled = compiled
        self._cores = cores

    def product(self, x: tf.Tensor, *, few_rows: bool = False) -> tf.Tensor:
        """Rows times the matrix: [M, in] float32 → [M, out] float32.

        Args:
            x: the rows.
            few_rows: whether M is that of decode steps: a few tens at most.
        """
        y = self._rounded_product(x) if self._form.rounded else self._plain_product(x, few_rows)
        if self._scales is not None:
            y *= self._scales
        return y if self._values.shape[0] == self.num_outputs else y[:, : self.num_outputs]

    def rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows as they lie, those of an embedding: ids [...] int32 → [..., in] float32."""
        found = tf.gather(self._values, ids)
        if self._compiled and self._form.dtype != "float32":
            # Or XLA widens the whole matrix once, before the loop, and looks rows up in the wide one.
            found = xla_optimization_barrier([found])[0]
        found = tf.cast(found, tf.float32)
        return found if self._scales is None else found * tf.gather(self._scales, ids)[..., None]

    def _plain_product(self, x: tf.Tensor, few_rows: bool) -> tf.Tensor:
        if self._compiled:
            # The number of rows is known when XLA compiles, which drops the other branch.
            return tf.cond(
                tf.equal(tf.shape(x)[0], 1), lambda: self._row_product(x), lambda: self._sliced_product(x)
            )
        values = tf.cast(self._values, tf.float32)
        if few_rows:
            return tf.matmul(x, values, transpose_b=True)
        # As a batch of one it goes to oneDNN's newer kernel, which takes a transpose without loss.
        return tf.matmul(x[None], values[None], transpose_b=True)[0]

    def _row_product(self, x: tf.Tensor) -> tf.Tensor:
        """One row: XLA makes the product a loop of its own, a share of the outputs for each core.

        Only a factor that something is computed from goes into that loop, so float32 is multiplied by
        one. The row must not go in, or what makes it is computed again for each output; XLA leaves out
        what ends in a division. A one that it does not see through: 0 · x is not 0 for all x.
        """
        one = x[:1, :1] * 0 + 1
        if self._form.dtype == "float32":
            return tf.matmul(x / one, self._values * one, transpose_b=True) / one
        # Without the barrier XLA widens the matrix once, before a loop, and streams the wide one.
        values, x = xla_optimization_barrier([self._values, x / one])
        y = tf.matmul(x, tf.cast(values, tf.float32), transpose_b=True)
        # Without this one it takes a bias into the product, and the widened matrix is written out.
        return xla_optimization_barrier([y])[0]

    def _sliced_product(self, x: tf.Tensor) -> tf.Tensor:
        """A slice of the outputs per core, the matrix on the left: it is read once, as it lies."""
        values = self._values
        if self._form.dtype != "float32":
            values, x = xla_optimization_barrier([values, x])
            values = tf.cast(values, tf.float32)
        outputs, inputs = values.shape
        slices = tf.reshape(values, [self._cores, outputs // self._cores, inputs])
        rows = tf.broadcast_to(x[None], [self._cores, tf.shape(x)[0], inputs])
        y = tf.reshape(tf.matmul(slices, rows, transpose_b=True), [outputs, tf.shape(x)[0]])
        return tf.transpose(y)

    def _rounded_product(self, x: tf.Tensor) -> tf.Tensor:
        """Both sides in 8 bits; without XLA the same integers are multiplied as float32."""
        scale = tf.maximum(tf.reduce_max(tf.abs(x), axis=-1, keepdims=True), _TINY) / 127.0
        rounded = tf.round(x / scale)
        if self._compiled:
            y = tf.matmul(tf.cast(rounded, tf.int8), self._values, transpose_b=True, output_type=tf.int32)
            return tf.cast(y, tf.float32) * scale
        return tf.matmul(rounded, tf.cast(self._values, tf.float32), transpose_b=True) * scale
