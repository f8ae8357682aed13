"""BlockComputation: what a transformer block computes, whatever form its weights lie in."""

from __future__ import annotations

from abc import ABC, abstractmethod

import tensorflow as tf

from models.attention import attend
from models.decoder_config import DecoderConfig
from models.decoder_shapes import BIAS
from models.norms import layer_norm, rms_norm
from models.rotary import rotary_angles, rotate


class BlockComputation(ABC):
    """Attention and MLP, each with its norm before and its residual around.

    A mixin: whoever owns the weights gives `config`, `product` and `vector`. A caller supplies
    attention between `project` and `finish`: the full sequence here, paged blocks in serving.
    Weights are named as in `models.decoder_shapes.block_shapes`.
    """

    config: DecoderConfig

    @abstractmethod
    def product(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Product with the kernel `name`, without its bias: [B, T, in] → [B, T, out] float32."""

    @abstractmethod
    def vector(self, name: str) -> tf.Tensor:
        """The norm or bias `name`: [width] float32."""

    def project(self, x: tf.Tensor, positions: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Norm, projection and, if the family has them, rotary positions.

        Args:
            x: [B, T, E] float32.
            positions: [B, T] int32.

        Returns:
            q [B, H, T, D], k [B, Hkv, T, D], v [B, Hkv, T, D].
        """
        config = self.config
        joint = self._linear("query_key_value", apply_norm(self, "attention_norm", x))
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
        x += self._linear("attention_output", flat)
        return x + self._mlp(apply_norm(self, "mlp_norm", x))

    def run(self, x: tf.Tensor, positions: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """The block over a full sequence: [B, T, E] → [B, T, E]; `mask` as in `models.attention.attend`."""
        q, k, v = self.project(x, positions)
        return self.finish(x, attend(q, k, v, mask))

    def _linear(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Product with the kernel `name` and its bias: [B, T, out]."""
        y = self.product(name, x)
        return y + self.vector(name + BIAS) if name in self.config.parts.biases else y

    def _mlp(self, x: tf.Tensor) -> tf.Tensor:
        """[B, T, E] → [B, T, E]; gated SiLU: Shazeer (2020), GELU: Hendrycks and Gimpel (2016)."""
        if self.config.parts.gated:
            gate, up = tf.split(self._linear("gate_up", x), 2, axis=-1)
            return self._linear("down", tf.nn.silu(gate) * up)
        return self._linear("down", tf.nn.gelu(self._linear("up", x), approximate=True))


def apply_norm(owner: BlockComputation, name: str, x: tf.Tensor) -> tf.Tensor:
    """The family's norm over the last axis, with the weights of that name that `owner` has.

    Args:
        owner: block or decoder; gives `config` and `vector`.
        name: e.g. "final_norm".
        x: [B, T, E].
    """
    config, scale = owner.config, owner.vector(name)
    if config.parts.norm == "layer":
        return layer_norm(x, scale, owner.vector(name + BIAS), config.norm_eps)
    return rms_norm(x, scale, config.norm_eps)
