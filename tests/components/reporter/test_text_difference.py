from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from components.reporter.text_difference import Piece, differences

texts = st.text(alphabet="ab \n.ü", max_size=40)


@given(texts, texts)
def test_the_pieces_are_the_texts_and_what_does_not_differ_is_in_both(before: str, after: str):
    ours, theirs = differences(before, after)
    assert "".join(piece.text for piece in ours) == before
    assert "".join(piece.text for piece in theirs) == after
    common = ["".join(p.text for p in pieces if not p.differs) for pieces in (ours, theirs)]
    assert common[0] == common[1]
    assert all(piece.text for piece in [*ours, *theirs])


@given(texts)
def test_equal_texts_do_not_differ(text: str):
    assert differences(text, text) == (([Piece(text, False)],) * 2 if text else ([], []))


def test_words_are_compared_whole():
    ours, theirs = differences("return a + b", "return total")
    assert [piece for piece in ours if piece.differs] == [Piece("a + b", True)]
    assert [piece for piece in theirs if piece.differs] == [Piece("total", True)]
