from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import DataError
from preprocessing.corpus_document import CorpusDocument, cut
from preprocessing.corpus_files import CorpusFile


def inspect(path: Path, data: bytes) -> CorpusDocument:
    path.write_bytes(data)
    return CorpusDocument.inspect(CorpusFile("s", path.name, str(path), len(data), 0))


def document(path: str) -> CorpusDocument:
    return CorpusDocument("s", path, path, 1, "")


def test_inspecting_tells_digest_blankness_and_the_first_broken_byte(tmp_path):
    text = "Käse 🎉\n".encode()
    good = inspect(tmp_path / "a.txt", text)
    assert (good.digest, good.size) == (hashlib.sha256(text).hexdigest(), len(text))
    assert (good.blank, good.bad_offset) == (False, None)
    assert inspect(tmp_path / "b.txt", b" \n\t").blank
    assert inspect(tmp_path / "c.txt", b"").blank
    assert inspect(tmp_path / "d.txt", b"abc\xffdef").bad_offset == 3
    assert inspect(tmp_path / "e.txt", "é".encode()[:1]).bad_offset == 0
    assert inspect(tmp_path / "f.txt", b"\xed\xa0\x80").bad_offset == 0


def test_a_document_survives_json():
    one = CorpusDocument("s", "p/ä\udcff.txt", "/x", 3, "d", bad_offset=2)
    assert CorpusDocument.from_json(one.to_json()) == one


def test_a_vanished_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.txt cannot be read: No such file"):
        CorpusDocument.inspect(CorpusFile("s", "gone.txt", str(tmp_path / "gone.txt"), 1, 0))


@pytest.mark.parametrize(
    ("path", "depth", "group"),
    [
        ("json.py", 1, "json"),
        ("json/tool.py", 1, "json"),
        ("json/a/b.py", 1, "json"),
        ("json/tool.py", 2, "json/tool"),
        ("json/tool/x.py", 2, "json/tool"),
        ("json.py", 3, "json"),
        (".profile", 1, ".profile"),
        ("2024.01.02.txt", 1, "2024.01.02"),
    ],
)
def test_a_group_is_the_leading_parts_of_the_path(path, depth, group):
    assert document(path).group(depth) == group


@given(st.text(st.sampled_from("ab\n🎉ä"), max_size=60), st.integers(4, 12))
def test_pieces_are_short_valid_and_join_to_the_text(text, limit):
    pieces = cut(text.encode(), limit)
    assert b"".join(pieces) == text.encode()
    assert all(0 < len(piece) <= limit for piece in pieces) or text == ""
    assert "".join(piece.decode() for piece in pieces) == text


def test_pieces_end_after_a_line_if_they_can():
    assert cut(b"one\ntwo\nthree\n", 9) == [b"one\ntwo\n", b"three\n"]
