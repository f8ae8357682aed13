from __future__ import annotations

import codecs

from hypothesis import given
from hypothesis import strategies as st

from models.contract.sampling_params import SamplingParams
from serving.engine.finish_reason import FinishReason
from serving.engine.output_processor import OutputProcessor
from serving.engine.sequence import Sequence
from serving.engine.token_output import TokenOutput
from tests.fakes import BYTE_VOCAB, EOS


def processor(max_tokens: int = 100, **params) -> OutputProcessor:
    sequence = Sequence("r", [1, 2], SamplingParams(**params), max_tokens=max_tokens)
    return OutputProcessor(sequence, BYTE_VOCAB, (EOS,))


def tokens(*ids: int) -> list[TokenOutput]:
    return [TokenOutput(i, -1.0) for i in ids]


def test_text_and_tokens_of_a_step():
    output = processor().accept(tokens(*b"hi"))
    assert (output.text_delta, [t.id for t in output.tokens]) == ("hi", list(b"hi"))
    assert (output.num_prompt_tokens, output.num_output_tokens, output.finish_reason) == (2, 2, None)


def test_the_end_id_counts_but_has_no_text_and_ids_behind_it_are_dropped():
    answer = processor()
    output = answer.accept(tokens(*b"a", EOS, *b"b"))
    assert (output.text_delta, [t.id for t in output.tokens]) == ("a", [ord("a"), EOS])
    assert output.finish_reason is FinishReason.STOP
    assert answer.sequence.token_ids == [1, 2, ord("a"), EOS]


def test_tokens_behind_a_stop_string_are_dropped():
    output = processor(stop=("bc",)).accept(tokens(*b"abcd"))
    assert (output.text_delta, [t.id for t in output.tokens]) == ("a", list(b"abc"))
    assert output.finish_reason is FinishReason.STOP


def test_the_last_token_by_length_flushes_what_was_held_back():
    output = processor(max_tokens=2, stop=("bcd",)).accept(tokens(*b"abc"))
    assert (output.text_delta, output.finish_reason) == ("ab", FinishReason.LENGTH)


def test_the_end_id_flushes_what_was_held_back():
    output = processor(stop=("bcd",)).accept(tokens(*b"abc", EOS))
    assert (output.text_delta, output.finish_reason) == ("abc", FinishReason.STOP)


def test_a_stop_string_that_ends_on_the_last_allowed_token_is_a_stop():
    output = processor(max_tokens=2, stop=("b",)).accept(tokens(*b"ab"))
    assert (output.text_delta, output.finish_reason) == ("a", FinishReason.STOP)


def test_a_character_cut_by_tokens_comes_out_whole():
    answer = processor()
    deltas = [answer.accept(tokens(byte)).text_delta for byte in "a€🙂".encode()]
    assert deltas == ["a", "", "", "€", "", "", "", "🙂"]


def test_an_incomplete_character_at_the_end_becomes_a_replacement_character():
    output = processor(max_tokens=2).accept(tokens(*"€".encode()[:2]))
    assert output.text_delta == "�"
    ended = processor()
    ended.accept(tokens(0xE2))
    assert ended.end(FinishReason.ABORT).text_delta == "�"


def test_ending_from_outside_keeps_the_reason_and_flushes():
    answer = processor(stop=("END",))
    answer.accept(tokens(*b"fooEN"))
    output = answer.end(FinishReason.ERROR, "it broke")
    assert (output.text_delta, output.finish_reason, output.error) == ("EN", FinishReason.ERROR, "it broke")
    assert output.tokens == ()


def test_ending_from_outside_keeps_its_reason_even_if_the_flushed_text_is_a_stop_string():
    answer = processor(stop=("�",))
    answer.accept(tokens(0xE2))
    output = answer.end(FinishReason.ABORT)
    assert (output.text_delta, output.finish_reason) == ("", FinishReason.ABORT)


@given(
    ids=st.lists(st.integers(0, 255), min_size=1, max_size=30),
    cuts=st.lists(st.integers(1, 5), max_size=30),
)
def test_streamed_text_is_the_text_of_all_ids(ids: list[int], cuts: list[int]):
    answer = processor(max_tokens=len(ids))
    text, rest = "", tokens(*ids)
    for size in [*cuts, len(ids)]:
        piece, rest = rest[:size], rest[size:]
        text += answer.accept(piece).text_delta if piece else ""
    assert text == codecs.decode(bytes(ids), "utf-8", "replace")
