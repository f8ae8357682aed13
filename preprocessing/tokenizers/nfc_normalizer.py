"""NfcNormalizer: Unicode normalisation form C, as graph operations.

The algorithm is that of Unicode Standard Annex 15: decompose, bring combining marks into order, join.
Each step takes all texts at once. Most texts are in form C already, which a look at their code points
shows; otherwise only starters that something follows, and what follows them, are worked on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.code_point_table import code_point_table, look_up
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.nfc_tables import LEADING, SYLLABLES, TRAILING, VOWELS, nfc_tables, pair_key

_NEVER = -1


class NfcNormalizer(tf.Module):
    """Brings texts into form C exactly as Hugging Face's NFC normalizer does.

    Cost grows with the length of the texts, for a row of combining marks with that of sorting it; the
    number of steps is that of the parts of a code point, whatever the texts.

    Raises:
        CheckpointError: see `nfc_tables`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tables = tuple(map(graph_constant, _tables()))
        # Traced once: signatures that encode share it. A table that a branch captured would be named
        # after a counter of the process, and two exports would differ; so all are arguments.
        texts = tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int64)
        tables = [tf.TensorSpec(table.shape, table.dtype) for table in self._tables]
        self._in_form_c = tf.function(_in_form_c, input_signature=[*texts, *tables], autograph=False)

    def normalize(self, points: tf.RaggedTensor) -> tf.RaggedTensor:
        """Normalise texts, each by itself: nothing is joined or brought into order across rows.

        Args:
            points: [B, None] int32 code points.

        Returns:
            [B, None] int32.
        """
        tables = map(tf.identity, self._tables)
        values, rows = self._in_form_c(points.values, points.row_splits, *tables)
        return tf.RaggedTensor.from_row_splits(values, rows, validate=False)


def _tables() -> list[np.ndarray]:
    """What `_FormC` takes."""
    tables = nfc_tables()
    return [
        *code_point_table(tables.kind),
        tables.order,
        tables.is_boundary,
        tables.is_unsettled,
        tables.is_second,
        tables.decomposable,
        tables.decomposition,
        tables.decomposition_splits,
        tables.pairs,
        tables.composites,
    ]


def _in_form_c(values: tf.Tensor, rows: tf.Tensor, *tables: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Values [n] int32 and row splits [B + 1] int64 of texts, and the same of the texts in form C."""
    first_point = int(np.flatnonzero(nfc_tables().kind)[0])
    return tf.cond(
        tf.reduce_all(values < first_point),
        lambda: (values, rows),
        lambda: _FormC(*tables).of(values, rows),
    )


@dataclass(frozen=True)
class _FormC:
    """The steps.

    Args:
        offset: int32 [4352], with `kind` the `code_point_table` of kinds.
        kind: uint8.
        order: this and the others as in `NfcTables`.
    """

    offset: tf.Tensor
    kind: tf.Tensor
    order: tf.Tensor
    is_boundary: tf.Tensor
    is_unsettled: tf.Tensor
    is_second: tf.Tensor
    decomposable: tf.Tensor
    decomposition: tf.Tensor
    decomposition_splits: tf.Tensor
    pairs: tf.Tensor
    composites: tf.Tensor

    def of(self, values: tf.Tensor, rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Texts in form C, given and returned as values and row splits."""
        kinds = self._kinds(values)
        return tf.cond(
            self._may_change(values, kinds),
            lambda: self._spliced(values, rows, kinds),
            lambda: (values, rows),
        )

    def _kinds(self, points: tf.Tensor) -> tf.Tensor:
        return look_up(self.offset, self.kind, points)

    def _may_change(self, values: tf.Tensor, kinds: tf.Tensor) -> tf.Tensor:
        """[] bool; false only if all texts are in form C (UAX 15, section 9, "quick check").

        Beyond that check: what might be joined is not if a starter that has no parts and does not join
        it stands right before. So are the vowel signs of Bengali and Tamil, mostly.
        """
        at = tf.where(kinds > 0)[:, 0]
        kind = tf.cast(tf.gather(kinds, at), tf.int32)
        order = tf.gather(self.order, kind)
        adjacent = at[1:] == at[:-1] + 1
        disordered = adjacent & (order[1:] > 0) & (order[:-1] > order[1:])
        at = tf.boolean_mask(at, tf.gather(self.is_unsettled, kind))
        before = tf.maximum(at - 1, 0)
        first, second = tf.gather(values, before), tf.gather(values, at)
        is_second = tf.gather(self.is_second, tf.cast(tf.gather(kinds, at), tf.int32))
        whole = (tf.gather(kinds, before) == 0) & ~self._find_decomposable(first)[1]
        settled = is_second & whole & (self._composite(first, second) == _NEVER)
        return tf.reduce_any(disordered) | ~tf.reduce_all(settled)

    def _spliced(self, values: tf.Tensor, rows: tf.Tensor, kinds: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The texts with each span replaced that is not a lone starter.

        A span begins at a boundary or where a text does; what is in it depends on nothing else.
        """
        edge = tf.zeros([tf.size(values) + 1], tf.bool)
        edge = tf.tensor_scatter_nd_update(edge, rows[:, None], tf.ones_like(rows, tf.bool))
        inner = (kinds > 0) & ~edge[:-1]
        taken = (kinds > 0) | tf.concat([inner[1:], [False]], 0)[: tf.size(values)]
        at = tf.where(taken)[:, 0]
        head = tf.gather(edge, at) | tf.gather(self.is_boundary, tf.cast(tf.gather(kinds, at), tf.int32))
        old = tf.gather(values, at)
        new, span = self._normalized(old, tf.cumsum(tf.cast(head, tf.int32)) - 1)

        def splice() -> tuple[tf.Tensor, tf.Tensor]:
            heads = tf.boolean_mask(at, head)[:, None]
            ends = tf.cast(tf.searchsorted(span, tf.range(tf.size(heads)), side="right"), tf.int64)
            begins = tf.concat([tf.constant([0], tf.int64), ends], 0)[:-1]
            # Pieces of `values + new`: an untouched code point, a span at its head, else nothing.
            count = tf.size(values, tf.int64)
            begin = tf.range(count)
            end = begin + tf.cast(~taken, tf.int64)
            begin = tf.tensor_scatter_nd_update(begin, heads, begins + count)
            end = tf.tensor_scatter_nd_update(end, heads, ends + count)
            pieces = tf.ragged.range(begin, end)
            both = tf.concat([values, new], 0)
            return tf.gather(both, pieces.values), tf.gather(pieces.row_splits, rows)

        return tf.cond(_equal(old, new), lambda: (values, rows), splice)

    def _normalized(self, points: tf.Tensor, span: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Form C of code points [n] int32 and the span of each, ascending from 0: both for the result."""
        points, span = self._decomposed(points, span)
        kinds = tf.cast(self._kinds(points), tf.int32)
        order = tf.gather(self.order, kinds)
        new_span = tf.concat([[True], span[1:] != span[:-1]], 0)[: tf.size(span)]
        run = tf.cumsum(tf.cast((order == 0) | new_span, tf.int32))
        disordered = (run[1:] == run[:-1]) & (order[:-1] > order[1:])

        def ordered() -> tuple[tf.Tensor, tf.Tensor]:
            orders = int(nfc_tables().order.max()) + 1
            key = tf.cast(run, tf.int64) * orders + tf.cast(order, tf.int64)
            by_key = tf.argsort(key, stable=True)
            return tf.gather(points, by_key), tf.gather(order, by_key)

        points, order = tf.cond(tf.reduce_any(disordered), ordered, lambda: (points, order))
        return self._joined(points, order, span)

    def _decomposed(self, points: tf.Tensor, span: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Full decompositions; Hangul syllables stay: joining them again would only give them back."""
        at, found = self._find_decomposable(points)
        itself = self.decomposition.shape[0] + tf.range(tf.size(points))
        begin = tf.where(found, tf.gather(self.decomposition_splits, at), itself)
        end = tf.where(found, tf.gather(self.decomposition_splits, at + 1), itself + 1)
        pieces = tf.ragged.range(begin, end)
        both = tf.concat([self.decomposition, points], 0)
        return tf.gather(both, pieces.values), tf.gather(span, pieces.value_rowids())

    def _find_decomposable(self, points: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Index [n] int32 into the decompositions, and whether it is that of the code point, [n] bool."""
        return _find(self.decomposable, points)

    def _joined(self, points: tf.Tensor, order: tf.Tensor, span: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Join each starter to the first that can be, until none can: Greek needs three such rounds."""

        def join(_: tf.Tensor, points: tf.Tensor, order: tf.Tensor, span: tf.Tensor) -> tuple[tf.Tensor, ...]:
            starter, second, composite = self._joins(points, order, span)
            points = tf.tensor_scatter_nd_update(points, starter[:, None], composite)
            kept = tf.fill([tf.size(points)], True)
            kept = tf.tensor_scatter_nd_update(kept, second[:, None], tf.zeros_like(second, tf.bool))
            kept = tf.where(kept)[:, 0]
            some = tf.size(second) > 0
            return some, tf.gather(points, kept), tf.gather(order, kept), tf.gather(span, kept)

        some = tf.size(points) > 0
        _, points, _, span = tf.while_loop(lambda some, *_: some, join, (some, points, order, span))
        return points, span

    def _joins(
        self, points: tf.Tensor, order: tf.Tensor, span: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Place [J] int64 of each starter that can be joined, of what it is joined to, and the composite.

        Between them nothing stands that is no mark of a lower order: neither a starter nor, as the marks
        are in order, a mark of the same.
        """
        is_second = tf.gather(self.is_second, tf.cast(self._kinds(points), tf.int32))
        open_starter = (order[1:] == 0) & (order[:-1] == 0)
        is_open = open_starter | (order[:-1] < order[1:])
        candidate = is_second[1:] & is_open & (span[1:] == span[:-1])
        second = tf.where(candidate)[:, 0] + 1
        starters = tf.where(order == 0)[:, 0]
        index = tf.gather(tf.cumsum(tf.cast(order == 0, tf.int32)), second - 1) - 1
        # A text may begin with marks: the starter before them is another text's, or there is none.
        starter = tf.gather(tf.concat([starters, [0]], 0), tf.maximum(index, 0))
        own = (index >= 0) & (tf.gather(span, starter) == tf.gather(span, second))
        composite = self._composite(tf.gather(points, starter), tf.gather(points, second))
        hit = own & (composite != _NEVER)
        starter, second, composite = (tf.boolean_mask(each, hit) for each in (starter, second, composite))
        first = tf.concat([[True], starter[1:] != starter[:-1]], 0)[: tf.size(starter)]
        return (
            tf.boolean_mask(starter, first),
            tf.boolean_mask(second, first),
            tf.boolean_mask(composite, first),
        )

    def _composite(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        """What two code points, each [n] int32, are joined to, or −1."""
        key = pair_key(tf.cast(first, tf.int64), tf.cast(second, tf.int64))
        at, known = _find(self.pairs, key)
        composite = tf.where(known, tf.gather(self.composites, at), _NEVER)
        # Hangul: The Unicode Standard, section 3.12; each leading consonant and vowel has 28 syllables.
        block = len(TRAILING) + 1
        leading, vowel, trailing = first - LEADING.start, second - VOWELS.start, second - TRAILING.start
        syllable = first - SYLLABLES.start
        open_syllable = (leading * len(VOWELS) + vowel) * block + SYLLABLES.start
        composite = tf.where(_within(first, LEADING) & _within(second, VOWELS), open_syllable, composite)
        closes = _within(first, SYLLABLES) & (syllable % block == 0) & _within(second, TRAILING)
        return tf.where(closes, first + trailing + 1, composite)


def _find(table: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Index [n] int32 into an ascending table where each value would be, and whether it is, [n] bool."""
    at = tf.searchsorted(table, values)
    at = tf.minimum(at, table.shape[0] - 1)
    return at, tf.gather(table, at) == values


def _within(points: tf.Tensor, block: range) -> tf.Tensor:
    return (points >= block.start) & (points < block.stop)


def _equal(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """[] bool, for vectors of any two lengths."""
    shorter = tf.minimum(tf.size(first), tf.size(second))
    return (tf.size(first) == tf.size(second)) & tf.reduce_all(first[:shorter] == second[:shorter])
