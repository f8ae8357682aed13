from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import InvalidRequestError
from serving.gateway.completion_request import CompletionRequest


def parse(**body) -> CompletionRequest:
    return CompletionRequest.parse({"prompt": "x", **body}, max_choices=8)


def refusal(**body) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        parse(**body)
    return caught.value


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("a", ("a",)),
        (["a", "b"], ("a", "b")),
        ([1, 2], ((1, 2),)),
        ([[1, 2], [3]], ((1, 2), (3,))),
        ("", ("",)),
    ],
)
def test_a_prompt_has_four_forms(prompt, read):
    assert parse(prompt=prompt).prompt == read


@pytest.mark.parametrize("prompt", [None, [], [[]], [1, "a"], ["a", [1]], {"a": 1}, 7, [True], [1.0]])
def test_a_prompt_of_another_form_is_refused(prompt):
    error = refusal(prompt=prompt)
    assert error.field == "prompt"
    assert "a list of strings" in str(error)


def test_defaults_are_openais():
    request = parse()
    params = request.sampling_params(0)
    assert (params.max_tokens, params.temperature, params.top_p, request.n) == (16, 1.0, 1.0, 1)
    assert (request.stream, request.echo, request.include_usage) == (False, False, False)


def test_null_stands_for_the_default():
    request = parse(max_tokens=None, stop=None, stream_options=None, n=None, temperature=None, user=None)
    assert request.max_tokens == 16
    assert "max_tokens" not in request.model_fields_set


def test_stop_is_a_string_or_a_list():
    assert parse(stop="\n").sampling_params(0).stop == ("\n",)
    assert parse(stop=["a", "b"]).sampling_params(0).stop == ("a", "b")
    assert refusal(stop=[1]).field == "stop"


@pytest.mark.parametrize(
    ("body", "field", "received"),
    [
        ({"max_tokens": "5"}, "max_tokens", "'5'"),
        ({"max_tokens": 0}, "max_tokens", "0"),
        ({"max_tokens": 1.5}, "max_tokens", "1.5"),
        ({"temperature": 2.5}, "temperature", "2.5"),
        ({"temperature": True}, "temperature", "True"),
        ({"top_p": 0}, "top_p", "0"),
        ({"top_k": -1}, "top_k", "-1"),
        ({"min_p": 1.1}, "min_p", "1.1"),
        ({"seed": 2**64}, "seed", str(2**64)),
        ({"stop": ["a"] * 5}, "stop", "'a'"),
        ({"stop": [""]}, "stop", "''"),
        ({"logprobs": 21}, "logprobs", "21"),
        ({"n": 0}, "n", "0"),
        ({"n": 9}, "n", "9"),
        ({"prompt": ["a"] * 5, "n": 2}, "n", "2"),
        ({"stream": "yes"}, "stream", "'yes'"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "stream"),
        ({"stream": True, "stream_options": {"usage": True}}, "stream_options.usage", "include_usage"),
        ({"echo": True, "logprobs": 1}, "logprobs", "1"),
        ({"best_of": 2}, "best_of", "2"),
        ({"suffix": "end"}, "suffix", "'end'"),
        ({"logit_bias": {"5": 101}}, "logit_bias", "101"),
        ({"logit_bias": {"a": 1}}, "logit_bias", "{'a': 1}"),
        ({"logit_bias": {"5": "1"}}, "logit_bias", "{'5': '1'}"),
        ({"logit_bias": {"5": True}}, "logit_bias", "{'5': True}"),
        ({"logit_bias": {"5": 1, "05": 1}}, "logit_bias", "2 pairs"),
        ({"logit_bias": {"-1": 1}}, "logit_bias", "{'-1': 1}"),
        ({"logit_bias": [[5, 1]]}, "logit_bias", "[[5, 1]]"),
        ({"presence_penalty": 2.5}, "presence_penalty", "2.5"),
        ({"frequency_penalty": -3}, "frequency_penalty", "-3"),
        ({"repetition_penalty": 0}, "repetition_penalty", "0"),
        ({"min_tokens": 17}, "min_tokens", "17"),
        ({"min_tokens": 1.5}, "min_tokens", "1.5"),
        ({"max_token": 5}, "max_token", "Did you mean `max_tokens`?"),
        ({"zzz": 5}, "zzz", "temperature"),
    ],
)
def test_a_refusal_names_the_field_and_the_value(body, field, received):
    error = refusal(**body)
    assert error.field == field
    assert f"`{field}`" in str(error)
    assert received in str(error)
    assert error.remedy


def test_fields_not_offered_are_taken_with_the_value_that_asks_for_nothing():
    harmless = parse(best_of=1, suffix="", logit_bias={}, presence_penalty=0, frequency_penalty=0.0)
    assert harmless == parse()


def test_what_changes_logits_is_passed_on():
    params = parse(
        frequency_penalty=0.5,
        presence_penalty=-1,
        repetition_penalty=1.2,
        logit_bias={"50": -100, "7": 1.5},
        min_tokens=4,
    ).sampling_params(0)
    assert (params.frequency_penalty, params.presence_penalty) == (0.5, -1)
    assert (params.repetition_penalty, params.min_tokens) == (1.2, 4)
    assert params.logit_bias == ((7, 1.5), (50, -100.0))
    assert params.changes_logits
    assert not parse().sampling_params(0).changes_logits


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_answer_of_a_seeded_request_has_its_own_seed(seed: int):
    request = parse(seed=seed, n=8)
    seeds = [request.sampling_params(answer).seed for answer in range(8)]
    assert seeds[0] == seed
    assert len(set(seeds)) == 8


def test_answers_without_a_seed_differ():
    request = parse()
    assert request.sampling_params(0).seed != request.sampling_params(0).seed
