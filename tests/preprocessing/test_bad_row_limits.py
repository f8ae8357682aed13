from __future__ import annotations

import pytest

from models.contract.errors import DataError
from preprocessing.bad_row_limits import BadRowLimits

EXAMPLES = [f"{source}/f#{row}: why" for source in "ab" for row in range(20)]


def test_up_to_the_limit_nothing_is_refused():
    assert BadRowLimits(0.1, rows=3).check({"a": (1, 10), "b": (2, 20), "c": (0, 0)}, EXAMPLES) is None
    assert BadRowLimits(0).check({"a": (0, 10)}, []) is None


def test_the_share_counts_in_every_source_by_itself_and_its_rows_are_named():
    with pytest.raises(DataError) as caught:
        BadRowLimits(0.1).check({"a": (1, 1000), "b": (2, 10)}, EXAMPLES)
    message = str(caught.value)
    assert "source 'b' has 2 broken rows of 10 (20.00%), more than `corpus.max_bad_fraction` 0.1" in message
    assert message.count("\n  b/f#") == 10
    assert "a/f#" not in message


def test_the_number_counts_in_the_whole_corpus():
    with pytest.raises(DataError, match=r"3 broken rows, more than `corpus.max_bad_rows` 2 allows"):
        BadRowLimits(1, rows=2).check({"a": (1, 10), "b": (2, 10)}, EXAMPLES)
