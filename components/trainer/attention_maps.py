"""Attention maps: what chosen heads of a decoder look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from models.attention import attend
from models.decoder import Decoder


def attention_maps(
    decoder: Decoder, ids: np.ndarray, heads: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], np.ndarray]:
    """Attention weights of heads over one text.

    Args:
        decoder: with its adapters, if it has any.
        ids: [T] int32.
        heads: (layer, head) pairs that exist.

    Returns:
        float32 [T, T] by pair; [t, s] is how much position t takes from s, each row sums to 1.
    """
    positions = tf.range(len(ids))[None]
    x = decoder.embed(tf.constant(ids[None], tf.int32), positions)
    deepest = max((layer for layer, _ in heads), default=-1)
    maps = {}
    for index, (block, mask) in enumerate(zip(decoder.blocks, decoder.masks(len(ids)), strict=True)):
        if index > deepest:
            break
        chosen = [head for layer, head in heads if layer == index]
        if chosen:
            q, k, _ = block.project(x, positions)
            weights = _weights(q, k, mask)
            maps.update({(index, head): weights[head] for head in chosen})
        x = block(x, positions, mask)
    return maps


def _weights(q: tf.Tensor, k: tf.Tensor, mask: tf.Tensor) -> np.ndarray:
    """[H, T, T]: attention to unit vectors gives its own weights, D columns at a time."""
    length, width = int(k.shape[2]), int(q.shape[3])
    unit = np.eye(length, -(-length // width) * width, dtype=np.float32)
    shape = (1, int(k.shape[1]), length, width)
    parts = [
        attend(q, k, tf.broadcast_to(unit[:, start : start + width], shape), mask)[0].numpy()
        for start in range(0, unit.shape[1], width)
    ]
    return np.concatenate(parts, axis=-1)[..., :length]
