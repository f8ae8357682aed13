"""LowRankAdapters: trainable low-rank products beside the frozen kernels of a decoder."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import keras
import numpy as np
import tensorflow as tf

from models.decoder import Decoder
from models.linear import linear
from models.lora.projection import ALL_LINEAR, Projection, projections, select


class LowRankAdapters(keras.layers.Layer):
    """Adds alpha / rank · x A B to the product of each chosen linear layer; only A and B are trained.

    Source: Hu et al. (2021), "LoRA: Low-Rank Adaptation of Large Language Models". B starts at zero,
    so nothing changes before the first step, and A uniformly within ± 1 / √in, as in PEFT. The
    decoder's own weights are frozen from construction until `merge` or `detach`: no gradient of a
    frozen kernel is computed, and no moments of it are kept.

    Args:
        decoder: to adapt; its blocks' `adapters` are set.
        rank: inner width of the products, r.
        alpha: the products are scaled by alpha / rank.
        targets: names of the checkpoint's linear layers (`models.lora.projection.select`).
        dropout: share of an adapter's inputs that `dropping` sets to zero.
        seed: of A, and of what is dropped.

    Raises:
        ConfigError: a target names no layer of this model.
    """

    def __init__(
        self,
        decoder: Decoder,
        rank: int,
        alpha: float,
        targets: str | Sequence[str] = ALL_LINEAR,
        *,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(name="low_rank_adapters")
        self.rank, self.alpha, self.dropout, self.seed = rank, alpha, dropout, seed
        self.projections = tuple(select(projections(decoder.config), targets))
        self.config = decoder.config
        # Behind a call, or Keras would take the decoder for a part of this layer.
        self._decoder: Callable[[], Decoder] = lambda: decoder
        self.pairs = {layer.module: self._pair(layer) for layer in self.projections}
        self.built = True
        self._step: tf.Tensor | None = None
        for index, ((block, kernel), group) in enumerate(self._groups()):
            decoder.blocks[block].adapters[kernel] = partial(self._added, index, group)
        decoder.trainable = False

    def _pair(self, layer: Projection) -> tuple[keras.Variable, keras.Variable]:
        # A generator per layer: its start does not depend on which others are adapted.
        random = np.random.default_rng([self.seed, zlib.crc32(layer.module.encode())])
        limit = layer.inputs**-0.5
        draw = random.uniform(-limit, limit, (layer.inputs, self.rank))
        down = self.add_weight(shape=draw.shape, initializer="zeros", name=f"{layer.name}_a")
        down.assign(draw.astype(np.float32))
        up = self.add_weight(shape=(self.rank, layer.outputs), initializer="zeros", name=f"{layer.name}_b")
        return down, up

    def _groups(self) -> Iterator[tuple[tuple[int, str], list[Projection]]]:
        """Adapted layers by the block and kernel they lie in."""
        for place, group in itertools.groupby(
            self.projections, key=lambda layer: (layer.block, layer.kernel)
        ):
            yield place, list(group)

    @property
    def scale(self) -> float:
        """What the products are multiplied with."""
        return self.alpha / self.rank

    @property
    def num_parameters(self) -> int:
        """Numbers that are trained."""
        return sum(self.rank * (layer.inputs + layer.outputs) for layer in self.projections)

    @property
    def trainable_share(self) -> float:
        """Trained numbers by all numbers, the adapters' own counted in."""
        return self.num_parameters / (self.num_parameters + self.config.num_parameters)

    @property
    def target_names(self) -> list[str]:
        """Targets that choose these layers: their short names where those name no others."""
        short = sorted({layer.name for layer in self.projections})
        exact = select(projections(self.config), short) == list(self.projections)
        return short if exact else [layer.module for layer in self.projections]

    @contextmanager
    def dropping(self, step: tf.Tensor) -> Iterator[None]:
        """Within, a forward pass drops inputs; which ones, the seed and this step decide."""
        self._step = tf.cast(step, tf.int32)
        try:
            yield
        finally:
            self._step = None

    def _added(self, index: int, group: Sequence[Projection], x: tf.Tensor) -> tf.Tensor:
        """What is added to the product of kernel number `index`: [B, T, in] → [B, T, out]."""
        if self.dropout and self._step is not None:
            kernel_seed = zlib.crc32(f"{self.seed} {index}".encode()) >> 1
            seed = tf.stack([tf.constant(kernel_seed, tf.int32), self._step])
            x = tf.nn.experimental.stateless_dropout(x, self.dropout, seed)
        down, up = self._factors(group)
        return linear(linear(x, down), up)

    def _factors(self, group: Sequence[Projection]) -> tuple[tf.Tensor, tf.Tensor]:
        """The group's products as one: A side by side [in, n·r], B on a diagonal [n·r, out], scaled.

        That is faster than two products for each layer and a concatenation, though most of B is zero.
        """
        pairs = [self.pairs[layer.module] for layer in group]
        width = self._width(group[0])
        rows = [
            tf.pad(tf.convert_to_tensor(up), [[0, 0], [layer.start, width - layer.start - layer.outputs]])
            for layer, (_, up) in zip(group, pairs, strict=True)
        ]
        down = tf.concat([tf.convert_to_tensor(down) for down, _ in pairs], axis=1)
        return down, tf.concat(rows, axis=0) * self.scale

    def _width(self, layer: Projection) -> int:
        return self._kernel(layer).shape[1]

    def _kernel(self, layer: Projection) -> keras.Variable:
        return getattr(self._decoder().blocks[layer.block], layer.kernel)

    def merge(self) -> None:
        """Add the products to the decoder's kernels for good and detach."""
        for _, group in self._groups():
            down, up = self._factors(group)
            self._kernel(group[0]).assign_add(tf.matmul(down, up))
        self.detach()

    def detach(self) -> None:
        """Take the adapters off the decoder, which computes as before and can be trained again."""
        decoder = self._decoder()
        for (block, kernel), _ in self._groups():
            decoder.blocks[block].adapters.pop(kernel)
        decoder.trainable = True
