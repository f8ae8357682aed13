from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serving.engine.prompt_lookup import PromptLookup


def guess(text: str, count: int = 4, ngrams: tuple[int, ...] = (3,)) -> str:
    return "".join(map(chr, PromptLookup(ngrams).draft([*map(ord, text)], count)))


def test_what_followed_the_same_ending_before():
    assert guess("the cat sat; the cat", 4) == " sat"
    assert guess("abcdxabc", 1) == "d"


def test_a_new_ending_has_no_guess():
    assert guess("the cat sat") == ""
    assert guess("ab") == ""
    assert guess("abc") == ""


def test_the_newest_place_counts():
    assert guess("abc1 abc2 abc", 1) == "2"


def test_a_longer_ending_counts_more():
    assert guess("xxabc1 yyabc2 xxabc", 1, (5, 3)) == "1"
    assert guess("xxabc1 yyabc2 xxabc", 1, (3,)) == "2"


def test_a_loop_goes_on_with_itself():
    assert guess("abcabc", 8) == "abcabcab"
    assert guess("aaaa", 5) == "aaaaa"


def slow(ids: list[int], count: int, ngrams: tuple[int, ...]) -> tuple[int, ...]:
    for n in ngrams:
        for start in range(len(ids) - 1, n - 1, -1):
            if len(ids) > n and ids[start - n : start] == ids[-n:]:
                text = list(ids)
                for i in range(count):
                    text.append(text[start + i])
                return tuple(text[len(ids) :])
    return ()


@given(st.lists(st.integers(0, 2), max_size=40), st.lists(st.integers(1, 6), max_size=20), st.integers(1, 9))
def test_growing_piece_by_piece_finds_what_a_search_of_the_whole_finds(ids, cuts, count):
    lookup, end = PromptLookup((4, 2)), 0
    for size in [*cuts, len(ids)]:
        end = min(len(ids), end + size)
        assert lookup.draft(ids[:end], count) == slow(ids[:end], count, (4, 2))
