"""DecoderBlock: one pre-norm transformer block, split where serving puts its KV memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from models.attention import attend
from models.decoder_config import DecoderConfig
from models.decoder_shapes import BIAS, block_shapes
from models.norms import layer_norm, rms_norm
from models.rotary import rotary_angles, rotate

if TYPE_CHECKING:
    from models.decoder import Decoder


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


def norm(owner: Decoder | DecoderBlock, name: str, x: tf.Tensor) -> tf.Tensor:
    """The family's norm over the last axis, with the weights of that name that `owner` has.

    Args:
        owner: decoder or block.
        name: e.g. "final_norm".
        x: [B, T, E].
    """
    config, scale = owner.config, getattr(owner, name)
    if config.parts.norm == "layer":
        return layer_norm(x, scale, getattr(owner, name + BIAS), config.norm_eps)
    return rms_norm(x, scale, config.norm_eps)


def start(name: str, initializer: str | None) -> str | keras.initializers.Initializer:
    """Initializer of a weight: kernels as asked for, scales of norms 1, biases 0."""
    if name.endswith(BIAS):
        return "zeros"
    if name.endswith("norm"):
        return "ones"
    return initializer or keras.initializers.RandomNormal(stddev=0.02)


class DecoderBlock(keras.layers.Layer):
    """Attention and MLP, each with its norm before and its residual around.

    Args:
        config: the decoder's; its `parts` say which norm, positions, MLP and biases.
        initializer: of the kernels; None draws from a normal of deviation 0.02.

    `adapters` holds, by kernel name, what is added to that kernel's product: [B, T, in] → [B, T, out].

    A caller supplies attention between `project` and `finish`: the full sequence here, paged blocks
    in serving. Weights are named as in `models.decoder_shapes.block_shapes`. Kernels are [in, out];
    query, key and value share one, as do gate and up.
    """

    def __init__(self, config: DecoderConfig, initializer: str | None = None, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.config = config
        self.adapters: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {}
        for name, shape in block_shapes(config).items():
            setattr(self, name, self.add_weight(shape=shape, initializer=start(name, initializer), name=name))

    def _product(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Product with the kernel `name`, its bias, and what its adapter adds: [B, T, out]."""
        y = linear(x, getattr(self, name))
        if name in self.config.parts.biases:
            y += tf.convert_to_tensor(getattr(self, name + BIAS))
        adapter = self.adapters.get(name)
        return y if adapter is None else y + adapter(x)

    def project(self, x: tf.Tensor, positions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Norm, projection and, if the family has them, rotary positions.

        Args:
            x: [B, T, E] float32.
            positions: [B, T] int32.

        Returns:
            q [B, H, T, D], k [B, Hkv, T, D], v [B, Hkv, T, D].
        """
        config = self.config
        joint = self._product("query_key_value", norm(self, "attention_norm", x))
        total = config.num_heads + 2 * config.num_kv_heads
        heads = tf.reshape(joint, [tf.shape(x)[0], tf.shape(x)[1], total, config.head_dim])
        q_and_k, v = tf.split(
            tf.transpose(heads, [0, 2, 1, 3]), [total - config.num_kv_heads, config.num_kv_heads], axis=1
        )
        if config.parts.positions == "rotary":
            q_and_k = rotate(q_and_k, rotary_angles(positions, config.head_dim, config.rope_theta))
        q, k = tf.split(q_and_k, [config.num_heads, config.num_kv_heads], axis=1)
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
        return x + self._mlp(norm(self, "mlp_norm", x))

    def _mlp(self, x: tf.Tensor) -> tf.Tensor:
        """[B, T, E] → [B, T, E]; gated SiLU: Shazeer (2020), GELU: Hendrycks and Gimpel (2016)."""
        if self.config.parts.gated:
            gate, up = tf.split(self._product("gate_up", x), 2, axis=-1)
            return self._product("down", tf.nn.silu(gate) * up)
        return self._product("down", tf.nn.gelu(self._product("up", x), approximate=True))

    def call(self, x: tf.Tensor, positions: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """The block over a full sequence; `mask` as in `models.attention.attend`."""
        q, k, v = self.project(x, positions)
        return self.finish(x, attend(q, k, v, mask))
