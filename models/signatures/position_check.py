"""PositionCheck: refusals of positions that a call's block table or the network's context does not hold."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.paged_cache import PagedCache

_SHOWN = 32
"""Rows whose values a refusal shows."""


class PositionCheck(NamedTuple):
    """What must hold, and what a refusal says.

    Args:
        holds: bool tensor of any shape; all of it must be true.
        message: texts and integer tensors; the first name in backquotes is the field at fault.
    """

    holds: tf.Tensor
    message: Sequence[str | tf.Tensor]


def checked(checks: Sequence[PositionCheck], *values: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """`values`, which exist only if all checks hold; the first one that does not is told.

    Whatever a refused call would do must depend on one of them, above all what it would write.
    """
    with contextlib.ExitStack() as stack:
        for holds, message in checks:
            assertion = tf.debugging.Assert(tf.reduce_all(holds), message, summarize=_SHOWN)
            stack.enter_context(tf.control_dependencies([assertion]))
        return tuple(tf.identity(value) for value in values)


def at_least(name: str, value: tf.Tensor, least: int) -> PositionCheck:
    """Check that an input is not below `least`."""
    return PositionCheck(value >= least, [f"`{name}` must be at least {least}:", value])


def columns_of(name: str, tensor: tf.Tensor, count_name: str, count: tf.Tensor) -> PositionCheck:
    """Check that rows [B] are 0 to the number of columns of a tensor [B, T]."""
    columns = tf.shape(tensor)[1]
    return PositionCheck(
        (count >= 0) & (count <= columns),
        [f"`{count_name}` must be 0 to the number of columns of `{name}`:", count, "columns:", columns],
    )


def within(
    decoder: DecoderComputation,
    cache: PagedCache,
    block_table: tf.Tensor,
    start: tuple[str, tf.Tensor],
    count: tuple[str, tf.Tensor],
) -> PositionCheck:
    """Check that a call's positions lie within its block table and within the network's context.

    Rows that only fill up a batch have positions too, in the null block: the table is as wide for them.

    Args:
        decoder: whose context it is.
        cache: whose blocks the table names.
        block_table: [B, K] int32.
        start: name and value [B] int32, first position.
        count: name and value, [B] or scalar int32, positions from there on; not negative.
    """
    columns = tf.shape(block_table)[1]
    room = tf.minimum(columns * cache.block_size, decoder.config.max_length)
    message = [
        f"`{start[0]}` and {count[0]} go beyond the columns of `block_table`, {cache.block_size} positions "
        f"each, or beyond the context of {decoder.config.max_length}. {start[0]}:",
        start[1],
        f"{count[0]}:",
        count[1],
        "columns:",
        columns,
    ]
    # Not start + count, which may be too large for its type.
    return PositionCheck(start[1] <= room - count[1], message)
