from __future__ import annotations

from pathlib import Path

import pytest

from serving.benchmarks.machine_texts import documents
from serving.benchmarks.tokenizer_texts import FAMILIES, adversarial, batches, prompts

TOKENS = [b"ab", b" the", b"\xe3\x81", b"c"]
SPECIALS = ["<|end|>"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_shorter_text_of_a_family_is_the_start_of_a_longer_one(family: str):
    short, long = (adversarial(family, size, TOKENS, SPECIALS) for size in (500, 1000))
    assert (len(short), len(long)) == (500, 1000)
    assert adversarial(family, 1000, TOKENS, SPECIALS) == long
    assert long.startswith(short)


def test_batches_of_files_hold_their_bytes(tmp_path: Path):
    text = bytes(range(256)) * 100
    (tmp_path / "text").write_bytes(text)
    found = batches(2, 7000, [tmp_path / "text"])
    assert [sum(map(len, batch)) for batch in found] == [12_000, 12_000]
    assert text.startswith(b"".join(document for batch in found for document in batch))
    (rest,) = batches(9, 10**6, [tmp_path / "text"])
    assert b"".join(rest) == text


def test_batches_of_nothing_are_none(tmp_path: Path):
    (tmp_path / "empty").touch()
    assert batches(1, 10, [tmp_path / "empty"]) == []


def test_prompts_have_one_length_and_begin_anywhere():
    assert prompts(4, 3, [[b"abc", b"defg"], [b"hij"]]) == [b"abcd", b"efgh", b"bcde"]
    assert [len(prompt) for prompt in prompts(5, 3, [[b"ab"]])] == [5, 5, 5]


def test_documents_are_the_same_each_time_and_no_more_than_asked_for():
    first = list(documents("sources", 50_000))
    assert list(documents("sources", 50_000)) == first
    assert sum(map(len, first)) == 50_000
    assert all(first)


def test_parts_are_different_files():
    one, two = (b"".join(documents("sources", 20_000, part, 2)) for part in range(2))
    assert one != two
