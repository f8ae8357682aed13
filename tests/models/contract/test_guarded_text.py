"""GuardedText behaves as the text it stands for, and its characters tell where they come from."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.guarded_text import GuardedText, joined, shown, stand_ins

LETTERS = '<|>abe\u00e9\uff5c "'
HIDDEN = stand_ins(LETTERS)
texts = st.text(alphabet=[*LETTERS, "x", "y", "\n", "\t", "A", "\u0130"], max_size=12)
seps = st.sampled_from(["<|", "a", "ab", "x", "|>", "\n", "<", "aa"])


def of(text: str) -> GuardedText:
    return GuardedText(text.translate(HIDDEN), text)


def same(got: object, expected: object) -> None:
    """Equal as text, and every letter of it that could be taken for the template's is hidden."""
    if isinstance(expected, list | tuple):
        assert isinstance(got, list | tuple)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    elif isinstance(expected, str):
        assert isinstance(got, str)
        raw = str.__str__(got)
        assert shown(raw) == expected == got
        assert not set(raw) & set(LETTERS)
    else:
        assert got == expected


@given(texts, seps, st.integers(-1, 3))
def test_its_methods_are_those_of_the_text(text: str, sep: str, count: int):
    one = of(text)
    for name in ("strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "upper", "title", "isspace"):
        same(getattr(one, name)(), getattr(text, name)())
    for name in ("strip", "rstrip", "removeprefix", "removesuffix", "partition", "rpartition", "startswith"):
        same(getattr(one, name)(sep), getattr(text, name)(sep))
    for name in ("split", "rsplit"):
        same(getattr(one, name)(sep, count), getattr(text, name)(sep, count))
        same(getattr(one, name)(None, count), getattr(text, name)(None, count))
    same(one.splitlines(True), text.splitlines(True))
    same(one.replace(sep, of("<b>"), count), text.replace(sep, "<b>", count))
    same(one.replace("", of("y"), count), text.replace("", "y", count))
    same([one.find(sep), one.rfind(sep), one.count(sep)], [text.find(sep), text.rfind(sep), text.count(sep)])
    same(list(one), list(text))
    same(one[1:-1], text[1:-1])
    same(f"{one}", text)
    assert shown(repr([one])) == repr([text])
    assert (sep in one, one == text, hash(one), len(one)) == (sep in text, True, hash(text), len(text))
    assert {one: 1}[text] == 1


@given(texts, texts)
def test_texts_put_together_keep_their_origin(text: str, other: str):
    for got in (
        of(text) + other,
        joined([of(text), other]),
        "".join([of(text), other]),
        f"{of(text)}{other}",
    ):
        raw = str.__str__(got)
        assert shown(raw) == text + other
        assert raw.endswith(other)
        assert not set(raw[: len(text)]) & set(LETTERS)
    same(other + of(text), other + text) if not set(other) & set(LETTERS) else None


def test_json_shows_the_text():
    assert shown(json.dumps({of("a<"): [of("b|")]}, ensure_ascii=False)) == '{"a<": ["b|"]}'
    assert (int(of("12")), float(of("1.5"))) == (12, 1.5)


def test_there_are_so_many_stand_ins():
    with pytest.raises(ValueError, match="2048 stand-ins"):
        stand_ins(map(chr, range(0x4E00, 0x4E00 + 2048)))
