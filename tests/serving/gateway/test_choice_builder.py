from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from models.contract.sampling_params import SamplingParams
from serving.engine.finish_reason import FinishReason
from serving.engine.request_output import RequestOutput
from serving.engine.token_output import TokenOutput
from serving.gateway.choice_builder import ChoiceBuilder
from serving.gateway.planned_choice import PlannedChoice
from tests.serving.gateway.fake_engine import BYTE_VOCAB


def builder(*, logprobs: int | None = None, echo: str = "", ids: bool = False, vocab=BYTE_VOCAB):
    params = SamplingParams(logprobs=logprobs)
    return ChoiceBuilder(PlannedChoice(3, (104, 105), echo, params), vocab, ids)


def output(text: str, *ids: int, top=(), reason=None) -> RequestOutput:
    tokens = tuple(TokenOutput(i, -0.25, top) for i in ids)
    return RequestOutput("r", text, tokens, reason, 2, len(ids))


def test_an_entry_has_the_openai_fields():
    entry = builder().entry([output("ab", 97), output("c", 98, reason=FinishReason.STOP)])
    assert entry == {"index": 3, "text": "abc", "logprobs": None, "finish_reason": "stop"}


def test_echo_precedes_the_first_piece_only():
    choice = builder(echo="hi")
    assert choice.entry([output("a", 97)])["text"] == "hia"
    assert choice.entry([output("b", 98)])["text"] == "b"


def test_token_ids_come_when_asked_for():
    choice = builder(ids=True)
    assert choice.entry([output("a", 97)])["prompt_token_ids"] == [104, 105]
    second = choice.entry([output("b", 98, 99)])
    assert second["token_ids"] == [98, 99]
    assert "prompt_token_ids" not in second


def test_top_logprobs_hold_the_best_and_the_chosen_token():
    entry = builder(logprobs=2).entry([output("a", 97, top=((98, -0.1), (99, -0.2), (100, -3.0)))])
    assert entry["logprobs"]["top_logprobs"] == [{"b": -0.1, "c": -0.2, "a": -0.25}]
    assert builder(logprobs=0).entry([output("a", 97)])["logprobs"]["top_logprobs"] == [{"a": -0.25}]


def test_ids_of_the_same_text_keep_the_better_logprob():
    entry = builder(logprobs=2, vocab=[b"x", b"y", b"y"]).entry([output("x", 0, top=((1, -0.1), (2, -0.9)))])
    assert entry["logprobs"]["top_logprobs"] == [{"y": -0.1, "x": -0.25}]


def test_a_part_of_a_character_is_written_as_bytes():
    logprobs = builder(logprobs=0).entry([output("é!", *"é!".encode())])["logprobs"]
    assert logprobs["tokens"] == ["bytes:\\xc3", "bytes:\\xa9", "!"]
    assert logprobs["text_offset"] == [0, 0, 1]


def test_an_incomplete_character_counts_as_the_one_it_is_shown_as():
    logprobs = builder(logprobs=0).entry([output("\ufffd~a", 0xE1, 0x7E, 0x61)])["logprobs"]
    assert logprobs["text_offset"] == [0, 1, 2]


@given(st.text(max_size=20), st.data())
def test_offsets_point_to_the_character_a_token_begins_in(text: str, data):
    raw = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=6)) | {0, len(raw)})
    vocab = [raw[a:b] for a, b in pairwise(cuts)]
    choice = builder(logprobs=0, vocab=vocab)
    offsets = [
        offset
        for i in range(len(vocab))
        for offset in choice.entry([output("", i)])["logprobs"]["text_offset"]
    ]
    starts = [len(raw[:cut].decode("utf-8", "ignore")) for cut in cuts[:-1]]
    assert offsets == starts


def test_an_output_that_brings_nothing_is_no_chunk():
    assert not builder().says_something(output("", 97))
    assert builder().says_something(output("a", 97))
    assert builder().says_something(output("", 97, reason=FinishReason.LENGTH))
    assert builder(logprobs=1).says_something(output("", 97))
    assert builder(ids=True).says_something(output("", 97))
    assert builder(echo="hi").says_something(output("", 97))
