"""SpecialMatcher: finds special tokens in text, as graph operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.graph_constant import graph_constant

_DEAD = 0
_ROOT = 1


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
        child, ids = _trie(specials, {letter: column for column, letter in enumerate(letters, 1)})
        self._letters = graph_constant(np.array(letters, np.int32))
        self._child = graph_constant(child)
        self._id = graph_constant(ids)
        self._longest = max(map(len, specials))
        self._first = sorted({ord(content[0]) for content in specials})

    def find(self, points: tf.Tensor, row_splits: tf.Tensor) -> SpecialMatches:
        """Find them.

        Args:
            points: [n] int32 code points of all texts.
            row_splits: [B + 1] int64; a match never crosses texts.
        """
        start = tf.where(tf.reduce_any([points == letter for letter in self._first], 0))[:, 0]
        row_end = tf.gather(row_splits, tf.searchsorted(row_splits, start, side="right"))
        length, found = self._walk(points, start, row_end)
        hit = found >= 0
        start = tf.boolean_mask(start, hit)
        return SpecialMatches(start, start + tf.boolean_mask(length, hit), tf.boolean_mask(found, hit))

    def _walk(self, points: tf.Tensor, start: tf.Tensor, row_end: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Length [C] int64 and id [C] int32 of the longest match from each start; id −1 without one."""
        columns = tf.searchsorted(self._letters, points)
        known = tf.gather(self._letters, tf.minimum(columns, tf.size(self._letters) - 1)) == points
        columns = tf.where(known, columns + 1, 0)
        last = tf.size(points, tf.int64) - 1

        def step(depth, state, length, found):
            at = start + depth
            column = tf.where(at < row_end, tf.gather(columns, tf.minimum(at, last)), 0)
            state = tf.gather_nd(self._child, tf.stack([state, column], 1))
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


def _trie(specials: dict[str, int], column: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """child [states, 1 + letters] int32 and id [states] int32; column 0 is any other letter."""
    child: list[list[int]] = [[_DEAD] * (len(column) + 1) for _ in (_DEAD, _ROOT)]
    ids = [-1, -1]
    for content, index in specials.items():
        state = _ROOT
        for letter in content:
            at = column[ord(letter)]
            if child[state][at] == _DEAD:
                child[state][at] = len(child)
                child.append([_DEAD] * (len(column) + 1))
                ids.append(-1)
            state = child[state][at]
        ids[state] = index
    return np.array(child, np.int32), np.array(ids, np.int32)
