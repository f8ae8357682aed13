from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocessing.packing import PAD_SEGMENT, pack, shuffled
from preprocessing.training_document import TrainingDocument

END, BEGIN = 999, 998
SPECIAL = frozenset({9})

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


def conversation(ids: list[int], learned: list[int]) -> TrainingDocument:
    return TrainingDocument(np.array(ids, np.int32), np.array(learned, bool))


conversations = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=20).map(
    lambda pairs: conversation(*map(list, zip(*pairs, strict=True)))
)


@given(st.lists(conversations, min_size=1, max_size=6), st.integers(2, 16), st.booleans())
def test_of_conversations_exactly_the_learned_ids_are_labels_with_weight(documents, length, with_begin):
    rows = list(
        pack(documents, length, end_id=END, begin_id=BEGIN if with_begin else None, special_ids=SPECIAL)
    )
    weighted = [label for row in rows for label in row.labels[row.weights == 1].tolist()]
    expected = []
    for document in documents:
        learned = document.ids[1:][document.learned[1:]].tolist()
        stops = not document.learned[-1] or document.ids[-1] == 9
        expected += learned if stops else [*learned, END]
    assert weighted == expected
    assert BEGIN not in np.concatenate([row.ids for row in rows])


def test_a_conversation_beside_plain_text_gets_no_marks_of_its_own():
    plain = TrainingDocument(np.array([1, 2], np.int32))
    (row,) = pack(
        [plain, conversation([5, 6, 9, 7], [0, 1, 1, 0])], 9, end_id=END, begin_id=BEGIN, special_ids=SPECIAL
    )
    assert row.ids.tolist() == [BEGIN, 1, 2, END, 5, 6, 9, 7, 0]
    assert row.weights.tolist() == [1, 1, 1, 0, 1, 1, 0, 0, 0]
    assert row.segment_ids.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, PAD_SEGMENT]


def test_an_answer_that_ends_without_a_special_token_is_taught_to_end():
    (row,) = pack([conversation([5, 6], [0, 1])], 4, end_id=END, special_ids=SPECIAL)
    assert (row.ids.tolist(), row.weights.tolist()) == ([5, 6, END, 0], [1, 1, 0, 0])


@pytest.mark.parametrize("begin", [None, BEGIN])
@given(conversations, st.lists(st.integers(1, 9), max_size=5))
def test_the_framed_length_is_that_of_what_is_framed(begin, chat, ids):
    for document in (chat, TrainingDocument(np.array(ids, np.int32))):
        framed, learned = document.framed(END, begin, SPECIAL)
        assert document.framed_length(begin, SPECIAL) == len(framed) == len(learned)


def counts(weights: list[float], passes: int, seed: int = 0) -> np.ndarray:
    """How often each document comes in so many passes; a pass has as many as the weights' sum."""
    documents = [np.array([i]) for i in range(len(weights))]
    drawn = itertools.islice(shuffled(documents, seed, np.array(weights)), round(sum(weights) * passes))
    return np.bincount([int(document[0]) for document in drawn], minlength=len(weights))


def test_weights_decide_how_often_documents_are_drawn():
    weights = [2.0] * 10 + [0.25] * 40 + [1.5] * 20
    for passes in (1, 4, 10):
        found = counts(weights, passes)
        assert np.abs(found - np.array(weights) * passes).max() <= 1
        assert found[:10].tolist() == [2 * passes] * 10
        assert found[10:50].sum() == 10 * passes
        assert found[50:].sum() == 30 * passes
    assert counts(weights, 1, seed=1).tolist() != counts(weights, 1, seed=2).tolist()


def test_small_weights_count_in_relation_to_the_largest():
    assert counts([0.001, 0.002], 1000).tolist() == [1, 2]


def test_without_documents_there_is_no_stream():
    assert list(shuffled([], 0)) == []
    assert list(shuffled([], 0, np.empty(0))) == []
