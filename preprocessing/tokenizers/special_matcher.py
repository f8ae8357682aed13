"""SpecialMatcher: finds special tokens in text, as graph operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.code_point_table import code_point_table, look_up
from preprocessing.tokenizers.graph_constant import graph_constant

_DEAD = 0
_ROOT = 1
_CODE_POINTS = 0x110000


@dataclass(frozen=True)
class SpecialMatches:
    """Occurrences that do not overlap, in order.

    Args:
        start: [M] int64, index of the first code point.
        end: [M] int64, index after the last.
        id: [M] int32.
    """

    start: tf.Tensor
    end: tf.Tensor
    id: tf.Tensor


class SpecialMatcher(tf.Module):
    """Leftmost, longest matches of a set of strings.

    A trie walked from every place where a special token may begin; memory is proportional to these
    places whatever the number of special tokens.

    Args:
        specials: content → id. No character that begins one of them occurs later in any of them, so
            matches cannot overlap; `overlapping` tells.
    """

    def __init__(self, specials: dict[str, int]) -> None:
        super().__init__()
        letters = sorted({ord(letter) for content in specials for letter in content})
        columns = {letter: column for column, letter in enumerate(letters, 1)}
        edges, ids = _trie(specials, columns)
        self._width = len(columns) + 1
        keys = np.array([state * self._width + column for state, column in edges], np.int64)
        order = np.argsort(keys)
        first = {ord(content[0]) for content in specials}
        column_of = np.zeros(_CODE_POINTS, np.int32)
        column_of[letters] = list(columns.values())
        self._columns = tuple(map(graph_constant, code_point_table(column_of)))
        self._begins = graph_constant(np.array([False, *(letter in first for letter in letters)]))
        self._edges = graph_constant(keys[order])
        self._child = graph_constant(np.array(list(edges.values()), np.int32)[order])
        self._id = graph_constant(np.array(ids, np.int32))
        self._longest = max(map(len, specials))

    def find(self, points: tf.Tensor, row_splits: tf.Tensor) -> SpecialMatches:
        """Find them.

        Args:
            points: [n] int32 code points of all texts.
            row_splits: [B + 1] int64; a match never crosses texts.
        """
        columns = look_up(*self._columns, points)
        start = tf.where(tf.gather(self._begins, columns))[:, 0]
        row_end = tf.gather(row_splits, tf.searchsorted(row_splits, start, side="right"))
        length, found = self._walk(columns, start, row_end)
        hit = found >= 0
        start = tf.boolean_mask(start, hit)
        return SpecialMatches(start, start + tf.boolean_mask(length, hit), tf.boolean_mask(found, hit))

    def _walk(self, columns: tf.Tensor, start: tf.Tensor, row_end: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Length [C] int64 and id [C] int32 of the longest match from each start; id −1 without one."""
        last = tf.size(columns, tf.int64) - 1

        def step(depth, state, length, found):
            at = start + depth
            column = tf.where(at < row_end, tf.gather(columns, tf.minimum(at, last)), 0)
            edge = tf.cast(state, tf.int64) * self._width + tf.cast(column, tf.int64)
            edge, exists = _find(self._edges, edge)
            state = tf.where(exists, tf.gather(self._child, edge), _DEAD)
            ids = tf.gather(self._id, state)
            return depth + 1, state, tf.where(ids >= 0, depth + 1, length), tf.where(ids >= 0, ids, found)

        _, _, length, found = tf.while_loop(
            lambda depth, state, *_: (depth < self._longest) & tf.reduce_any(state != _DEAD),
            step,
            (
                tf.constant(0, tf.int64),
                tf.fill(tf.shape(start), _ROOT),
                tf.zeros_like(start),
                tf.fill(tf.shape(start), -1),
            ),
        )
        return length, found


def overlapping(specials: dict[str, int]) -> str | None:
    """A special token with a character, other than its first, that begins one; None if none has any."""
    first = {content[0] for content in specials}
    return next((content for content in specials if first & set(content[1:])), None)


def _find(ascending: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Place [n] int32 of values [n] in `ascending`, any place if it is not there; whether it is [n]."""
    at = tf.minimum(tf.searchsorted(ascending, values), tf.size(ascending) - 1)
    return at, tf.gather(ascending, at) == values


def _trie(specials: dict[str, int], column: dict[int, int]) -> tuple[dict[tuple[int, int], int], list[int]]:
    """State by state before and column of the letter; id of each state or −1.

    Edges are few, one for each state: a table of states × letters would grow with the square.
    """
    edges: dict[tuple[int, int], int] = {}
    ids = [-1, -1]
    for content, index in specials.items():
        state = _ROOT
        for letter in content:
            state = edges.setdefault((state, column[ord(letter)]), len(ids))
            if state == len(ids):
                ids.append(-1)
        ids[state] = index
    return edges, ids
