"""The endpoint over a real socket, asked by the client people already use."""

from __future__ import annotations

import asyncio

import openai
import pytest

from models.contract.errors import EngineError, OverloadedError
from serving.engine.finish_reason import FinishReason
from serving.gateway.gateway_config import GatewayConfig
from tests.serving.gateway.fake_engine import FakeEngine, RunningGateway, eventually, running_gateway


def client(gateway: RunningGateway, **options) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0, **options)


@pytest.fixture
def gateway():
    with running_gateway() as running:
        yield running


def test_a_completion(gateway):
    answer = client(gateway).completions.create(model="mill", prompt="Hi", max_tokens=20)
    assert answer.object == "text_completion"
    assert answer.model == "mill"
    assert answer.system_fingerprint == "fp_fake"
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason, choice.index) == ("Hello, mill!", "stop", 0)
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (2, 12, 14)


def test_the_engine_knows_whether_someone_reads_along(gateway):
    sdk = client(gateway)
    sdk.completions.create(model="mill", prompt="Hi")
    list(sdk.completions.create(model="mill", prompt="Hi", stream=True))
    assert list(gateway.engine.streamed.values()) == [False, True]


def test_penalties_and_biases_reach_the_engine(gateway):
    client(gateway).completions.create(
        model="mill",
        prompt="Hi",
        frequency_penalty=0.5,
        presence_penalty=-0.5,
        logit_bias={"7": 1, "5": -100},
        extra_body={"repetition_penalty": 1.2, "min_tokens": 3},
    )
    ((_, params),) = gateway.engine.requests.values()
    assert (params.frequency_penalty, params.presence_penalty, params.repetition_penalty) == (0.5, -0.5, 1.2)
    assert (params.logit_bias, params.min_tokens) == (((5, -100.0), (7, 1.0)), 3)


def test_a_stream_adds_up_to_the_completion(gateway):
    chunks = list(client(gateway).completions.create(model="mill", prompt="Hi", max_tokens=5, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == "Hello"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 4 + ["length"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks)


def test_usage_comes_last_and_only_when_asked_for(gateway):
    *chunks, last = client(gateway).completions.create(
        model="mill", prompt="Hi", stream=True, stream_options={"include_usage": True}
    )
    assert all(chunk.usage is None and len(chunk.choices) == 1 for chunk in chunks)
    assert last.choices == []
    assert last.usage.total_tokens == 14


def test_the_async_client_streams_too(gateway):
    async def ask() -> str:
        url = f"{gateway.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as sdk:
            whole = await sdk.completions.create(model="mill", prompt="Hi")
            stream = await sdk.completions.create(model="mill", prompt="Hi", stream=True)
            parts = [chunk.choices[0].text async for chunk in stream]
        assert "".join(parts) == whole.choices[0].text
        return whole.choices[0].text

    assert asyncio.run(ask()) == "Hello, mill!"


@pytest.mark.parametrize("stream", [False, True])
def test_n_answers_to_each_prompt_have_their_index(gateway, stream):
    answer = client(gateway).completions.create(
        model="mill", prompt=["a", "bcd"], n=2, seed=7, max_tokens=3, echo=True, stream=stream
    )
    texts = ["", "", "", ""]
    for part in answer if stream else [answer]:
        for choice in part.choices:
            texts[choice.index] += choice.text
    assert texts == ["aHel", "aHel", "bcdHel", "bcdHel"]
    asked = {name.rpartition("-")[2]: (ids, p.seed) for name, (ids, p) in gateway.engine.requests.items()}
    assert asked == {"0": ([97], 7), "1": ([97], 8), "2": ([98, 99, 100], 7), "3": ([98, 99, 100], 8)}
    if not stream:
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, 12)


def test_prompts_of_token_ids_are_not_tokenized_and_echo_as_text(gateway):
    gateway.engine.tokenize = None
    answer = client(gateway).completions.create(
        model="mill", prompt=[[72, 105], [33]], echo=True, max_tokens=1
    )
    assert [choice.text for choice in answer.choices] == ["HiH", "!H"]


def test_sampling_parameters_reach_the_engine(gateway):
    client(gateway).completions.create(
        model="mill",
        prompt="x",
        max_tokens=9,
        temperature=0.5,
        top_p=0.9,
        seed=-3,
        stop=["\n", "END"],
        logprobs=2,
        extra_body={"top_k": 40, "min_p": 0.1},
    )
    ((_, params),) = gateway.engine.requests.values()
    assert (params.max_tokens, params.temperature, params.top_p, params.seed) == (9, 0.5, 0.9, -3)
    assert (params.stop, params.logprobs, params.top_k, params.min_p) == (("\n", "END"), 2, 40, 0.1)


def test_logprobs_have_the_completions_format(gateway):
    logprobs = (
        client(gateway)
        .completions.create(model="mill", prompt="x", max_tokens=2, logprobs=2)
        .choices[0]
        .logprobs
    )
    assert logprobs.tokens == ["H", "e"]
    assert logprobs.token_logprobs == [-0.5, -0.5]
    assert logprobs.top_logprobs == [{"H": -0.5, "I": -1.5}, {"e": -0.5, "f": -1.5}]
    assert logprobs.text_offset == [0, 1]


def test_text_arrives_unchanged_whatever_its_characters():
    text = 'é漢👩‍👩‍👧\u2028\ufffd\x00"\\\n\r\ndata: x\n\n'
    with running_gateway(FakeEngine(script=[(part, 65) for part in text])) as gateway:
        sdk = client(gateway)
        stream = sdk.completions.create(model="mill", prompt="x", max_tokens=40, stream=True)
        assert "".join(chunk.choices[0].text for chunk in stream) == text
        assert sdk.completions.create(model="mill", prompt="x", max_tokens=40).choices[0].text == text


def test_characters_split_over_tokens_come_whole():
    # What the engine's detokenizer gives: nothing until a character is complete.
    script = [("", b) for b in "漢".encode()[:-1]] + [("漢", "漢".encode()[-1])]
    with running_gateway(FakeEngine(script=script)) as gateway:
        chunks = list(client(gateway).completions.create(model="mill", prompt="x", stream=True))
    assert [chunk.choices[0].text for chunk in chunks] == ["漢"]


def test_max_tokens_is_cut_to_the_context_unless_it_was_asked_for(gateway):
    sdk = client(gateway)
    sdk.completions.create(model="mill", prompt="x" * 60)
    ((_, params),) = gateway.engine.requests.values()
    assert params.max_tokens == 4
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.completions.create(model="mill", prompt="x" * 60, max_tokens=16)
    assert caught.value.code == "context_length"
    assert "60 tokens" in str(caught.value)


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_beyond_the_context_is_a_400(gateway, stream):
    with pytest.raises(openai.BadRequestError, match=r"has 70 tokens.*Shorten the prompt"):
        client(gateway).completions.create(model="mill", prompt="x" * 70, stream=stream)
    assert gateway.engine.requests == {}


def test_a_prompt_that_can_never_fit_is_refused_without_tokenising_it():
    with running_gateway(FakeEngine(tokenize_seconds=60)) as gateway:
        with pytest.raises(
            openai.BadRequestError, match=r"has 70,000 bytes; the context of 64 tokens"
        ) as caught:
            client(gateway).completions.create(model="mill", prompt="x" * 70_000)
        assert caught.value.code == "context_length"


@pytest.mark.parametrize("stream", [False, True])
def test_an_overloaded_engine_is_a_429_with_retry_after(stream):
    engine = FakeEngine(failure=OverloadedError("300 requests are waiting.", retry_after=2.2))
    with running_gateway(engine) as gateway:
        with pytest.raises(openai.RateLimitError) as caught:
            client(gateway).completions.create(model="mill", prompt="x", stream=stream)
        assert caught.value.response.headers["retry-after"] == "3"
        assert caught.value.code == "overloaded"
        assert caught.value.type == "rate_limit_error"


def test_a_full_gateway_refuses_before_it_tokenizes():
    config = GatewayConfig(max_in_flight=2, headers_grace=0.02)
    with running_gateway(FakeEngine(first=30.0), config) as gateway:
        stream = client(gateway).completions.create(model="mill", prompt=["a", "b"], stream=True)
        with pytest.raises(openai.RateLimitError, match="takes at most 2"):
            client(gateway).completions.create(model="mill", prompt="c")
        assert len(gateway.engine.requests) == 2
        stream.close()


def test_more_answers_than_one_request_may_have_are_refused(gateway):
    with pytest.raises(openai.BadRequestError, match="at most 128"):
        client(gateway).completions.create(model="mill", prompt="x", n=129)


@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_before_the_first_token_has_a_status(stream):
    with running_gateway(FakeEngine(failure=EngineError("a step failed."))) as gateway:
        with pytest.raises(openai.InternalServerError, match=r"a step failed\."):
            client(gateway).completions.create(model="mill", prompt="x", stream=stream)
        eventually(lambda: not gateway.engine.running)


def test_a_failure_of_one_answer_ends_the_others():
    engine = FakeEngine(
        script=[("x", 65)] * 36,
        interval=0.05,
        failure=EngineError("a step failed."),
        fail_at=2,
        fail_prompt=(98,),
    )
    with running_gateway(engine) as gateway:
        with pytest.raises(openai.InternalServerError):
            client(gateway).completions.create(model="mill", prompt=["a", "b"], max_tokens=36)
        eventually(lambda: not engine.running)
        assert max(engine.steps.values()) < 12


@pytest.mark.parametrize(
    ("reason", "failure"),
    [(FinishReason.ERROR, openai.InternalServerError), (FinishReason.ABORT, openai.InternalServerError)],
)
def test_an_answer_the_engine_gave_up_is_no_completion(reason, failure):
    with running_gateway(FakeEngine(last_reason=reason)) as gateway:
        with pytest.raises(failure) as caught:
            client(gateway).completions.create(model="mill", prompt="x")
        assert caught.value.status_code == (500 if reason is FinishReason.ERROR else 503)


def test_a_failure_nobody_foresaw_tells_nothing_of_the_inside():
    engine = FakeEngine(failure=ZeroDivisionError("secret detail"))
    with running_gateway(engine) as gateway, pytest.raises(openai.InternalServerError) as caught:
        client(gateway).completions.create(model="mill", prompt="x")
    assert "secret" not in str(caught.value)
    assert caught.value.request_id in str(caught.value)


def test_an_unknown_model_is_a_404_that_names_those_there_are(gateway):
    with pytest.raises(openai.NotFoundError, match=r"'mil' is not served.*Did you mean `mill`\?"):
        client(gateway).completions.create(model="mil", prompt="x")
