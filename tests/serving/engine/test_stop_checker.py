from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.contract.sampling_params import SamplingParams
from serving.engine.finish_reason import FinishReason
from serving.engine.stop_checker import StopChecker


def checker(*stop: str, **params) -> StopChecker:
    return StopChecker(SamplingParams(stop=stop, **params), (256,), max_tokens=8)


def feed(stop_checker: StopChecker, *texts: str) -> list[str]:
    return [stop_checker.append_text(text) for text in texts]


def test_without_stop_strings_nothing_is_held_back():
    assert feed(checker(), "a", "bc") == ["a", "bc"]


def test_a_stop_string_across_texts_is_found_and_not_shown():
    stop_checker = checker("END")
    assert feed(stop_checker, "fooE", "N", "D bar") == ["foo", "", ""]
    assert stop_checker.finish_reason is FinishReason.STOP
    assert stop_checker.flush() == ""


def test_only_a_suffix_that_begins_a_stop_string_is_held_back():
    stop_checker = checker("\n\ndef")
    assert feed(stop_checker, "x\n", "y", "\n\nde", "ad") == ["x", "\ny", "", "\n\ndead"]


def test_held_back_text_shrinks_to_the_part_that_can_still_match():
    assert feed(checker("aab"), "aa", "a", "c") == ["", "a", "aac"]


def test_flush_gives_what_was_held_back():
    stop_checker = checker("END")
    assert feed(stop_checker, "fooEN") == ["foo"]
    assert stop_checker.flush() == "EN"
    assert stop_checker.flush() == ""


def test_the_stop_string_that_ends_first_counts():
    assert feed(checker("bcd", "c"), "abcd") == ["ab"]
    assert feed(checker("abc", "c"), "xabc") == ["x"]


def test_text_after_the_end_is_dropped():
    stop_checker = checker("E")
    assert feed(stop_checker, "aEb", "c") == ["a", ""]


def test_stop_ids_are_the_packages_and_the_requests():
    assert checker().is_stop_id(256)
    assert not checker().is_stop_id(7)
    assert checker(stop_ids=(7,)).is_stop_id(7)
    assert not checker(ignore_eos=True).is_stop_id(256)
    assert checker(ignore_eos=True, stop_ids=(256,)).is_stop_id(256)


def test_an_answer_is_full_at_its_length():
    assert [checker().is_full(count) for count in (7, 8, 9)] == [False, True, True]


def test_ending_from_outside_does_not_change_a_reason():
    stop_checker = checker("E")
    stop_checker.append_text("E")
    stop_checker.end(FinishReason.LENGTH)
    assert stop_checker.finish_reason is FinishReason.STOP
    other = checker()
    other.end(FinishReason.LENGTH)
    assert other.finish_reason is FinishReason.LENGTH


def character_by_character(text: str, stops: list[str]) -> tuple[str, bool]:
    """The plain definition: the text up to the first moment at which it ends with a stop string."""
    for end in range(1, len(text) + 1):
        starts = [end - len(stop) for stop in stops if text[:end].endswith(stop)]
        if starts:
            return text[: min(starts)], True
    return text, False


@given(
    pieces=st.lists(st.text("abé", max_size=5), max_size=8),
    stops=st.lists(st.text("abé", min_size=1, max_size=4), max_size=4),
)
def test_the_answer_does_not_depend_on_how_text_is_cut(pieces: list[str], stops: list[str]):
    stop_checker = checker(*stops)
    shown = ""
    for piece in pieces:
        shown += stop_checker.append_text(piece)
        text = character_by_character("".join(pieces), stops)[0]
        assert text.startswith(shown), "text was shown that does not belong to the answer"
        if stop_checker.finish_reason:
            break
    shown += stop_checker.flush()
    expected, stopped = character_by_character("".join(pieces), stops)
    assert (shown, stop_checker.finish_reason is FinishReason.STOP) == (expected, stopped)


@given(
    text=st.text("ab", max_size=12),
    stops=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_hold_back_is_minimal(text: str, stops: list[str]):
    stop_checker = checker(*stops)
    shown = "".join(feed(stop_checker, *text))
    if stop_checker.finish_reason is None:
        held = text[len(shown) :]
        assert held == "" or any(stop.startswith(held) and stop != held for stop in stops)
        longer = [text[i:] for i in range(len(shown))]
        assert not any(stop.startswith(suffix) for suffix in longer for stop in stops)
