from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from preprocessing.corpus_inventory import DOCUMENT
from preprocessing.document_choice import duplicates_of, held_out_ranks, superseded_by

described = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=30)


def documents(found: list[tuple[int, int, bool]]) -> np.ndarray:
    return np.array([((d, 0), i, 0, 0, 0) for d, i, _ in found], DOCUMENT).reshape(-1)


@given(described)
def test_copies_point_to_the_first_of_those_that_are_looked_at(found):
    kept = np.array([k for *_, k in found], bool)
    first: dict[int, int] = {}
    expected = []
    for place, (digest, _, looked_at) in enumerate(found):
        if looked_at and first.setdefault(digest, place) != place:
            expected.append([place, first[digest]])
    assert duplicates_of(documents(found), kept).tolist() == expected


@given(described)
def test_corrected_rows_point_to_the_last_of_their_id(found):
    last = {identifier: place for place, (_, identifier, _) in enumerate(found) if identifier}
    expected = [
        [place, last[identifier]]
        for place, (digest, identifier, _) in enumerate(found)
        if identifier and digest != found[last[identifier]][0]
    ]
    assert superseded_by(documents(found)).tolist() == expected


def test_digests_of_which_only_a_half_is_equal_are_other_documents():
    array = np.array([((1, 2), 0, 0, 0, 0), ((1, 3), 0, 0, 0, 0), ((4, 2), 0, 0, 0, 0)], DOCUMENT)
    assert len(duplicates_of(array, np.ones(3, bool))) == 0


@given(st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=20, unique=True), st.floats(0.001, 0.999))
def test_the_lowest_ranks_are_held_out_at_least_one_and_never_all(ranks, fraction):
    groups = np.array(sorted(ranks), np.uint64)
    held_out = held_out_ranks(groups, fraction)
    assert 1 <= len(held_out) < len(groups)
    assert held_out.tolist() == groups[: len(held_out)].tolist()
    below = [rank for rank in sorted(ranks) if (rank >> 16) / 2**48 < fraction]
    assert len(held_out) == min(max(len(below), 1), len(groups) - 1)
