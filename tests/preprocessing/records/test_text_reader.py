from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocessing.records.bad_row import BadRow
from preprocessing.records.text_reader import cut, read_text
from tests.preprocessing.records.reading import read, texts

some_text = st.text(st.sampled_from("ab\n🎉ä"), max_size=60)


def test_a_text_is_one_document_of_row_0_also_an_empty_one(tmp_path):
    (tmp_path / "a.txt").write_text("Käse 🎉\n")
    assert texts(read(tmp_path / "a.txt")) == [(0, "Käse 🎉\n")]
    (tmp_path / "a.txt").write_bytes(b"")
    assert texts(read(tmp_path / "a.txt")) == [(0, "")]


def test_a_packed_text_is_unpacked(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a\n"))
    assert texts(read(tmp_path / "a.txt.gz")) == [(0, "a\n")]


def test_any_format_can_be_read_as_text(tmp_path):
    (tmp_path / "a.csv").write_text("text\na\n")
    assert texts(read(tmp_path / "a.csv", format="text")) == [(0, "text\na\n")]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"abc\xffdef", 3),
        ("é".encode()[:1], 0),
        (b"\xed\xa0\x80", 0),
        (b"ab\ncd\nef\xff", 8),
        (b"\x80" * 20, 0),
        ("ä".encode("utf-16"), 0),
    ],
)
def test_the_first_broken_byte_is_named_whatever_piece_it_is_in(data, place):
    *_, last = read_text(io.BytesIO(data), 6)
    assert isinstance(last, BadRow)
    assert last.reason == "not_utf8"
    assert last.detail == f"not UTF-8 text at byte {place}."


@given(some_text, st.integers(4, 12))
def test_pieces_are_short_valid_and_join_to_the_text(text, limit):
    pieces = cut(text.encode(), limit)
    assert b"".join(pieces) == text.encode()
    assert all(0 < len(piece) <= limit for piece in pieces) or text == ""
    assert "".join(piece.decode() for piece in pieces) == text


@given(some_text, st.integers(4, 12))
def test_a_stream_is_cut_as_the_whole_text_is(text, limit):
    found = list(read_text(io.BytesIO(text.encode()), limit))
    assert [one.text for one in found] == cut(text.encode(), limit)
    assert [one.row for one in found] == ([0] if len(found) == 1 else list(range(1, len(found) + 1)))


def test_pieces_end_after_a_line_if_they_can():
    assert cut(b"one\ntwo\nthree\n", 9) == [b"one\ntwo\n", b"three\n"]


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfab")
    assert texts(read(tmp_path / "a.txt")) == [(0, "ab")]


@pytest.mark.parametrize(
    ("content", "what"), [(b"PK\x03\x04abc", "zip archive"), ("abc".encode("utf-16"), "UTF-16")]
)
def test_what_is_no_text_is_called_by_its_name(tmp_path, content, what):
    (tmp_path / "a.txt").write_bytes(content)
    (bad,) = read(tmp_path / "a.txt")
    assert what in bad.detail
