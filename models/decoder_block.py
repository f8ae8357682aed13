"""DecoderBlock: one pre-norm transformer block, split where serving puts its KV memory."""

from __future__ import annotations

from collections.abc import Callable

import keras
import tensorflow as tf

from models.attention import attend
from models.decoder_config import DecoderConfig
from models.rotary import rotary_angles, rotate


def linear(x: tf.Tensor, kernel: keras.Variable, transpose: bool = False) -> tf.Tensor:
    """Product with a kernel over the last axis.

    Args:
        x: [B, T, in].
        kernel: [in, out], or [out, in] with `transpose`.

    Returns:
        [B, T, out].
    """
    matrix = tf.convert_to_tensor(kernel)
    # One product of B·T rows; a batched product would run B small ones.
    rows = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), matrix, transpose_b=transpose)
    return tf.reshape(rows, [tf.shape(x)[0], tf.shape(x)[1], matrix.shape[0 if transpose else 1]])


def rms_norm(x: tf.Tensor, scale: keras.Variable, eps: float) -> tf.Tensor:
    """Divide by the root mean square over the last axis. Source: Zhang and Sennrich (2019).

    Args:
        x: [..., E].
        scale: [E].
        eps: added to the mean square.
    """
    mean_square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
    return x * tf.math.rsqrt(mean_square + eps) * tf.convert_to_tensor(scale)


class DecoderBlock(keras.layers.Layer):
    """Attention and gated MLP, each with its norm before and its residual around.

    Args:
        config: the decoder's.
        initializer: of the kernels; None draws from a normal of deviation 0.02.

    `adapters` holds, by kernel name, what is added to that kernel's product: [B, T, in] → [B, T, out].

    A caller supplies attention between `project` and `finish`: the full sequence here, paged blocks
    in serving. Kernels are [in, out]; query, key and value share one, as do gate and up.
    """

    def __init__(self, config: DecoderConfig, initializer: str | None = None, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.config = config
        self.adapters: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {}
        hidden, heads, kv_heads = config.hidden_size, config.num_heads, config.num_kv_heads
        self.attention_norm = self._norm("attention_norm")
        self.query_key_value = self._kernel(
            "query_key_value", hidden, (heads + 2 * kv_heads) * config.head_dim, initializer
        )
        self.attention_output = self._kernel("attention_output", heads * config.head_dim, hidden, initializer)
        self.mlp_norm = self._norm("mlp_norm")
        self.gate_up = self._kernel("gate_up", hidden, 2 * config.intermediate_size, initializer)
        self.down = self._kernel("down", config.intermediate_size, hidden, initializer)

    def _norm(self, name: str) -> keras.Variable:
        return self.add_weight(shape=(self.config.hidden_size,), initializer="ones", name=name)

    def _kernel(self, name: str, rows: int, columns: int, initializer: str | None) -> keras.Variable:
        start = initializer or keras.initializers.RandomNormal(stddev=0.02)
        return self.add_weight(shape=(rows, columns), initializer=start, name=name)

    def _product(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Product with the kernel `name`, plus what its adapter adds, if it has one: [B, T, out]."""
        y = linear(x, getattr(self, name))
        adapter = self.adapters.get(name)
        return y if adapter is None else y + adapter(x)

    def project(self, x: tf.Tensor, positions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Norm, projection and rotary positions.

        Args:
            x: [B, T, E] float32.
            positions: [B, T] int32.

        Returns:
            q [B, H, T, D], k [B, Hkv, T, D], v [B, Hkv, T, D].
        """
        config = self.config
        joint = self._product("query_key_value", rms_norm(x, self.attention_norm, config.norm_eps))
        total = config.num_heads + 2 * config.num_kv_heads
        heads = tf.reshape(joint, [tf.shape(x)[0], tf.shape(x)[1], total, config.head_dim])
        q_and_k, v = tf.split(
            tf.transpose(heads, [0, 2, 1, 3]), [total - config.num_kv_heads, config.num_kv_heads], axis=1
        )
        rotated = rotate(q_and_k, rotary_angles(positions, config.head_dim, config.rope_theta))
        q, k = tf.split(rotated, [config.num_heads, config.num_kv_heads], axis=1)
        return q, k, v

    def finish(self, x: tf.Tensor, attention: tf.Tensor) -> tf.Tensor:
        """Output projection, residual, MLP, residual.

        Args:
            x: [B, T, E], the block's input.
            attention: [B, H, T, D], what attention made of `project`'s outputs.

        Returns:
            [B, T, E].
        """
        config = self.config
        width = config.num_heads * config.head_dim
        flat = tf.reshape(tf.transpose(attention, [0, 2, 1, 3]), [tf.shape(x)[0], tf.shape(x)[1], width])
        x += self._product("attention_output", flat)
        gate, up = tf.split(self._product("gate_up", rms_norm(x, self.mlp_norm, config.norm_eps)), 2, axis=-1)
        return x + self._product("down", tf.nn.silu(gate) * up)

    def call(self, x: tf.Tensor, positions: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """The block over a full sequence; `mask` as in `models.attention.attend`."""
        q, k, v = self.project(x, positions)
        return self.finish(x, attend(q, k, v, mask))
