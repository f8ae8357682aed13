from __future__ import annotations

import numpy as np
import pytest

from preprocessing.text_sample import bytes_taken, cut, place

PLACES = [place(b"%d" % number) for number in range(50)]
SIZES = [10 + number for number in range(50)]


def test_everything_is_taken_where_there_is_room():
    assert bytes_taken(PLACES, SIZES, sum(SIZES)).tolist() == SIZES
    assert bytes_taken([], [], 5).tolist() == []


@pytest.mark.parametrize("size", [1, 77, 500, sum(SIZES) - 1])
def test_a_sample_is_full_and_cuts_one_document_at_most(size: int):
    taken = bytes_taken(PLACES, SIZES, size)
    assert taken.sum() == size
    assert ((taken > 0) & (taken < SIZES)).sum() <= 1


def test_the_order_of_reading_changes_nothing():
    order = np.random.default_rng(0).permutation(len(SIZES))
    shuffled = bytes_taken([PLACES[i] for i in order], [SIZES[i] for i in order], 300)
    assert shuffled.tolist() == bytes_taken(PLACES, SIZES, 300)[order].tolist()


def test_a_larger_sample_holds_the_smaller_one():
    small, large = bytes_taken(PLACES, SIZES, 200), bytes_taken(PLACES, SIZES, 400)
    assert (small <= large).all()


def test_a_cut_leaves_no_part_of_a_character():
    assert cut("aé".encode(), 2) == "a"
    assert cut("aé".encode(), 3) == "aé"
    assert cut(b"a\xff", 2) == "a�"
