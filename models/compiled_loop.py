"""The decode loop for XLA: all shapes fixed, the number of steps known only at run time."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from models.contract.signatures import MAX_XLA_STEPS
from models.decode_loop import DecodedSteps
from models.decoder_computation import DecoderComputation
from models.paged_attention import Prefix, attend_prefix_and_tail, view
from models.sampling import SAMPLED_DTYPES, SAMPLED_SHAPES, Sampled, SamplingRows, sample


def compiled_steps(
    decoder: DecoderComputation,
    last_id: tf.Tensor,
    length: tf.Tensor,
    prefix: Prefix,
    rows: SamplingRows,
    steps: tf.Tensor,
    choose: Callable[..., Sampled] = sample,
) -> DecodedSteps:
    """What `models.decode_loop.decode_steps` does, for a function that XLA compiles.

    Keys and values of new tokens go to a tail of `MAX_XLA_STEPS` places, the rest of which is masked.

    Args:
        decoder: the network.
        last_id: [B] int32, the token to run first, at position `length`.
        length: [B] int32, tokens whose keys and values the prefix holds.
        prefix: keys and values so far.
        rows: sampling parameters.
        steps: scalar int32, 1 to `MAX_XLA_STEPS`.
        choose: `models.sampling.sample` or what does the same.

    Returns:
        As of so many steps, but `MAX_XLA_STEPS` places long; those beyond `steps` hold nothing.
    """
    config = decoder.config
    batch = tf.shape(last_id)[0]
    place = tf.stack([batch, config.num_kv_heads, MAX_XLA_STEPS, config.head_dim])
    made = Sampled(
        *(
            tf.zeros(tf.stack([batch, MAX_XLA_STEPS, *shape[1:]]), dtype)
            for dtype, shape in zip(SAMPLED_DTYPES, SAMPLED_SHAPES, strict=True)
        )
    )

    def body(step: tf.Tensor, token: tf.Tensor, tail: list[tf.Tensor], made: Sampled) -> tuple:
        position = length + step
        x, tail = _run_token(decoder, token, position, step, prefix, tail)
        chosen = choose(decoder.head(x)[:, 0], rows, position + 1)
        made = Sampled(*(_put(old, new[:, None], step) for old, new in zip(made, chosen, strict=True)))
        return step + 1, chosen.id, tail, made

    tail = [tf.zeros(place) for _ in range(2 * config.num_layers)]
    state = (tf.constant(0), last_id, tail, made)
    _, _, tail, made = tf.while_loop(lambda step, *_: step < steps, body, state)
    return DecodedSteps(*made, tail=tf.stack(tail))


def _run_token(
    decoder: DecoderComputation,
    token: tf.Tensor,
    position: tf.Tensor,
    step: tf.Tensor,
    prefix: Prefix,
    tail: list[tf.Tensor],
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """One token per row through all blocks: features [B, 1, E] and the tail with place `step` filled."""
    x = decoder.embed(token[:, None], position[:, None])
    windows = decoder.config.windows
    views = {
        window: view(prefix, position, step + 1, window, places=MAX_XLA_STEPS)
        for window in dict.fromkeys(windows)
    }
    filled: list[tf.Tensor] = []
    for layer, block in enumerate(decoder.blocks):
        q, k, v = block.project(x, position[:, None])
        keys, values = (
            _put(old, new, step, axis=2)
            for old, new in zip(tail[2 * layer : 2 * layer + 2], (k, v), strict=True)
        )
        pair = (prefix.keys[layer], prefix.values[layer])
        x = block.finish(x, attend_prefix_and_tail(q, pair, views[windows[layer]], (keys, values)))
        filled += [keys, values]
    return x, filled


def _put(places: tf.Tensor, value: tf.Tensor, step: tf.Tensor, axis: int = 1) -> tf.Tensor:
    """`places` with `value`, of width 1, at index `step` of an axis."""
    here = tf.equal(tf.range(MAX_XLA_STEPS), step)
    shape = [MAX_XLA_STEPS if at == axis else 1 for at in range(places.shape.rank)]
    return tf.where(tf.reshape(here, shape), value, places)
