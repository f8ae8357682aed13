"""The decode loop: one token per row and step over a fixed prefix, wherever that prefix comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.paged_attention import Prefix, attend_prefix_and_tail, view
from models.sampling import SAMPLED_DTYPES, SAMPLED_SHAPES, Sampled, SamplingRows, sample


class DecodedSteps(NamedTuple):
    """What N steps made.

    Args:
        ids: [B, N] int32.
        logprobs: [B, N] float32.
        top_ids: [B, N, 20] int32.
        top_logprobs: [B, N, 20] float32.
        tail: [2 · layers, B, Hkv, N, D]: keys and values of the N tokens that were run, layer by
            layer, keys first.
    """

    ids: tf.Tensor
    logprobs: tf.Tensor
    top_ids: tf.Tensor
    top_logprobs: tf.Tensor
    tail: tf.Tensor


def decode_steps(
    decoder: DecoderComputation,
    last_id: tf.Tensor,
    length: tf.Tensor,
    prefix: Prefix,
    rows: SamplingRows,
    steps: tf.Tensor,
    choose: Callable[..., Sampled] = sample,
) -> DecodedSteps:
    """Run `last_id` and go on with what it makes, `steps` times.

    Args:
        decoder: the network.
        last_id: [B] int32, the token to run first, at position `length`.
        length: [B] int32, tokens whose keys and values the prefix holds.
        prefix: keys and values so far.
        rows: sampling parameters.
        steps: scalar int32 N, at least 1.
        choose: `models.sampling.sample` or what does the same.
    """
    config = decoder.config
    start = [2 * config.num_layers, tf.shape(last_id)[0], config.num_kv_heads, 0, config.head_dim]
    outputs = Sampled(
        *(
            tf.TensorArray(dtype, size=steps, element_shape=shape)
            for dtype, shape in zip(SAMPLED_DTYPES, SAMPLED_SHAPES, strict=True)
        )
    )

    def body(step: tf.Tensor, token: tf.Tensor, tail: tf.Tensor, made: Sampled) -> tuple:
        position = length + step
        x, tail = _run_token(decoder, token, position, prefix, tail)
        chosen = choose(decoder.head(x)[:, 0], rows, position + 1)
        made = Sampled(*(array.write(step, value) for array, value in zip(made, chosen, strict=True)))
        return step + 1, chosen.id, tail, made

    state = (tf.constant(0), last_id, tf.zeros(tf.stack(start)), outputs)
    grows = tf.TensorShape([2 * config.num_layers, None, config.num_kv_heads, None, config.head_dim])
    invariants = (tf.TensorShape([]), tf.TensorShape([None]), grows, Sampled(*[None] * len(outputs)))
    _, _, tail, made = tf.while_loop(lambda step, *_: step < steps, body, state, invariants)
    stacked = [_rows_first(array.stack()) for array in made]
    return DecodedSteps(*stacked, tail=tail)


def _run_token(
    decoder: DecoderComputation, token: tf.Tensor, position: tf.Tensor, prefix: Prefix, tail: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """One token per row through all blocks: features [B, 1, E] and the tail longer by one."""
    x = decoder.embed(token[:, None], position[:, None])
    old = tf.unstack(tail, axis=0)
    new: list[tf.Tensor] = []
    windows = decoder.config.windows
    steps = tf.shape(tail)[3] + 1
    views = {window: view(prefix, position, steps, window) for window in dict.fromkeys(windows)}
    for layer, block in enumerate(decoder.blocks):
        q, k, v = block.project(x, position[:, None])
        keys = tf.concat([old[2 * layer], k], axis=2)
        values = tf.concat([old[2 * layer + 1], v], axis=2)
        pair = (prefix.keys[layer], prefix.values[layer])
        x = block.finish(x, attend_prefix_and_tail(q, pair, views[windows[layer]], (keys, values)))
        new += [keys, values]
    return x, tf.stack(new)


def _rows_first(stacked: tf.Tensor) -> tf.Tensor:
    """[N, B, ...] → [B, N, ...]."""
    rest = list(range(2, stacked.shape.rank))
    return tf.transpose(stacked, [1, 0, *rest])
