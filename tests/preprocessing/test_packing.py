from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from preprocessing.packing import PAD_SEGMENT, pack, shuffled

END, BEGIN = 999, 998

documents_strategy = st.lists(
    st.lists(st.integers(1, 50), max_size=20).map(lambda ids: np.array(ids, np.int64)), min_size=1, max_size=8
)


@given(documents_strategy, st.integers(2, 16), st.booleans())
def test_rows_hold_the_documents_in_order_with_exact_labels(documents, length, with_begin):
    begin = BEGIN if with_begin else None
    rows = list(pack(documents, length, end_id=END, begin_id=begin))
    framed = [[*([BEGIN] if with_begin else []), *document, END] for document in documents]
    real = [row.segment_ids != PAD_SEGMENT for row in rows]

    def stream(name):
        return np.concatenate([getattr(row, name)[mask] for row, mask in zip(rows, real, strict=True)])

    assert stream("ids").tolist() == list(itertools.chain(*framed))
    expected_weights = list(itertools.chain(*([1] * (len(ids) - 1) + [0] for ids in framed)))
    assert stream("weights").tolist() == expected_weights
    following = [b for ids in framed for b in [*ids[1:], None]]
    labels = stream("labels").tolist()
    assert [label for label, w in zip(labels, expected_weights, strict=True) if w] == [
        b for b in following if b is not None
    ]
    assert all(mask.all() for mask in real[:-1])
    for row, mask in zip(rows, real, strict=True):
        assert row.ids.dtype == row.positions.dtype == row.segment_ids.dtype == row.labels.dtype == np.int32
        assert row.weights.dtype == np.float32
        assert {len(a) for a in (row.ids, row.positions, row.segment_ids, row.labels, row.weights)} == {
            length
        }
        assert row.weights[~mask].sum() == 0
        for segment in set(row.segment_ids):
            positions = row.positions[row.segment_ids == segment]
            assert positions.tolist() == list(range(len(positions)))


@given(documents_strategy, st.integers(2, 16))
def test_a_segment_never_spans_two_documents(documents, length):
    owners = itertools.chain(*([index] * (len(ids) + 1) for index, ids in enumerate(documents)))
    for row in pack(documents, length, end_id=END):
        in_row = list(zip(row.segment_ids[row.segment_ids != PAD_SEGMENT].tolist(), owners, strict=False))
        assert len(set(in_row)) == len({segment for segment, _ in in_row})


def test_an_id_equal_to_padding_or_to_the_end_is_still_learned():
    (row,) = pack([np.array([0, END, 0])], 6, end_id=END)
    assert row.ids.tolist() == [0, END, 0, END, 0, 0]
    assert row.weights.tolist() == [1, 1, 1, 0, 0, 0]
    assert row.labels.tolist()[:3] == [END, 0, END]


def test_a_document_cut_at_a_row_end_learns_the_next_rows_first_id():
    first, second = pack([np.array([1, 2, 3, 4])], 3, end_id=END)
    assert first.labels.tolist() == [2, 3, 4]
    assert first.weights.tolist() == [1, 1, 1]
    assert second.positions.tolist() == [0, 1, 0]
    assert second.weights.tolist() == [1, 0, 0]


def test_the_order_depends_on_the_seed_alone_and_changes_each_time_round():
    documents = [np.array([i]) for i in range(20)]
    order = [int(d[0]) for d in itertools.islice(shuffled(documents, 7), 40)]
    assert order == [int(d[0]) for d in itertools.islice(shuffled(documents, 7), 40)]
    assert sorted(order[:20]) == sorted(order[20:]) == list(range(20))
    assert order[:20] != order[20:]
    assert order[:20] != [int(d[0]) for d in itertools.islice(shuffled(documents, 8), 20)]
