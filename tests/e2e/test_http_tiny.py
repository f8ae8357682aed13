"""A tiny package behind `tokenmill serve`: what comes over HTTP is what the engine says in process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tokenmill_client import AsyncClient, Client

from models.contract.metrics import MetricsObserver
from models.contract.sampling_params import SamplingParams
from models.export import export_package
from models.export_options import ExportOptions
from serving.engine.engine_config import EngineConfig
from serving.engine.llm_engine import LLMEngine
from serving.engine.request_output import RequestOutput
from serving.runners.local_runner import LocalRunner
from tests.tiny import write_tiny_checkpoint

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = [
    "def add(a, b):",
    "import os\n",
    "The mill turns",
    "é漢👩‍👩‍👧",
    "x",
    "for i in range(10):\n    ",
    "0123456789" * 8,
    "\t\n ",
]
TIE = 1e-3
"""Where the best two ids lie closer than this, different batches may round to either."""


@dataclass(frozen=True)
class Mill:
    """A folder with a package, and a server of it."""

    folder: Path
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def metrics(self) -> dict[str, float]:
        text = httpx.get(f"{self.url}/metrics").text
        return {
            sample.name: sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if set(sample.labels) <= {"model_name"}
        }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """`.tokenmill/models/tiny/1` is the package."""
    folder = tmp_path_factory.mktemp("mill")
    checkpoint = write_tiny_checkpoint(folder / "checkpoint")
    options = ExportOptions(model_name="tiny", block_size=4, num_blocks=257)
    export_package(checkpoint, folder / ".tokenmill" / "models" / "tiny", options, version=1)
    return folder


@contextmanager
def serving(folder: Path, log: Path) -> Iterator[Mill]:
    command = [sys.executable, "-m", "cli.main", "serve", ".tokenmill/models/tiny", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=stderr
        )
    try:
        line = process.stdout.readline()
        assert line, log.read_text()
        ready = json.loads(line)
        assert ready["ready"] is True
        assert ready["model"] == "tiny"
        yield Mill(folder, ready["http"], process, log)
    finally:
        process.kill()
        process.wait(10)


@pytest.fixture(scope="module")
def mill(folder) -> Iterator[Mill]:
    with serving(folder, folder / "serve.log") as running:
        end = time.monotonic() + 60
        while httpx.get(f"{running.url}/readyz").status_code != 200:
            assert time.monotonic() < end, running.log.read_text()
            time.sleep(0.05)
        yield running


@pytest.fixture(scope="module")
def reference(folder) -> dict[str, RequestOutput]:
    """Greedy answers of the engine in this process, one prompt at a time."""
    with LocalRunner(folder / ".tokenmill" / "models" / "tiny" / "1") as runner:
        config = EngineConfig.from_manifest(runner.manifest)
        eos = runner.manifest.eos_ids
        engine = LLMEngine(runner, config, runner.vocab, eos, time.monotonic, MetricsObserver())
        params = SamplingParams(max_tokens=40, temperature=0, logprobs=2)
        return {
            prompt: engine.generate([ids], params)[0]
            for prompt, ids in zip(PROMPTS, runner.tokenize(PROMPTS), strict=True)
        }


def assert_same(expected: RequestOutput, ids: list[int]) -> None:
    """The ids are those expected, up to the first near-tie."""
    for token, other in zip(expected.tokens, ids, strict=False):
        if token.id != other:
            (_, best), (_, second) = token.top
            assert best - second < TIE
            return
    assert len(ids) == len(expected.tokens)


def asked(answer: openai.types.Completion) -> list[list[int]]:
    return [choice.token_ids for choice in answer.choices]


GREEDY = {"model": "tiny", "max_tokens": 40, "temperature": 0, "extra_body": {"return_token_ids": True}}


@pytest.fixture
def sdk(mill) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{mill.url}/v1", api_key="none", max_retries=0)


def test_one_by_one_the_answers_are_the_engines(sdk, reference):
    for prompt, expected in reference.items():
        answer = sdk.completions.create(prompt=prompt, **GREEDY)
        assert_same(expected, asked(answer)[0])
        if asked(answer)[0] == [token.id for token in expected.tokens]:
            assert answer.choices[0].text == expected.text_delta
            assert answer.choices[0].finish_reason == expected.finish_reason.value


def test_in_one_request_the_answers_are_the_same(sdk, reference):
    answer = sdk.completions.create(prompt=PROMPTS, **GREEDY)
    for prompt, ids in zip(PROMPTS, asked(answer), strict=True):
        assert_same(reference[prompt], ids)


def test_side_by_side_in_streams_the_answers_are_the_same(mill, reference):
    async def one(client: AsyncClient, prompt: str) -> tuple[str, list[int]]:
        chunks = [c async for c in client.stream(prompt, max_tokens=40, temperature=0, token_ids=True)]
        return "".join(c.text for c in chunks), [i for c in chunks for i in c.token_ids]

    async def main() -> list[tuple[str, list[int]]]:
        async with AsyncClient(mill.url) as client:
            return await asyncio.gather(*(one(client, prompt) for prompt in PROMPTS))

    for prompt, (text, ids) in zip(PROMPTS, asyncio.run(main()), strict=True):
        assert_same(reference[prompt], ids)
        if ids == [token.id for token in reference[prompt].tokens]:
            assert text == reference[prompt].text_delta


def test_a_seed_repeats_an_answer_alone_and_in_company(sdk):
    options = {**GREEDY, "temperature": 1.0, "seed": 11}
    alone = [asked(sdk.completions.create(prompt=prompt, **options))[0] for prompt in PROMPTS]
    together = asked(sdk.completions.create(prompt=PROMPTS, **options))
    assert together == alone
    other = asked(sdk.completions.create(prompt=PROMPTS, **{**options, "seed": 12}))
    assert other != alone


def test_a_stop_string_ends_the_answer_and_is_not_in_it(sdk, reference):
    expected = reference[PROMPTS[2]].text_delta
    stop = next(c for c in expected[3:] if c.isascii() and c.isprintable())
    answer = sdk.completions.create(prompt=PROMPTS[2], stop=stop, **GREEDY)
    assert answer.choices[0].text == expected[: expected.index(stop)]
    assert answer.choices[0].finish_reason == "stop"
    stream = sdk.completions.create(prompt=PROMPTS[2], stop=stop, stream=True, **GREEDY)
    assert "".join(chunk.choices[0].text for chunk in stream) == answer.choices[0].text


def test_a_prompt_beyond_the_context_is_refused_with_the_numbers(sdk):
    with pytest.raises(openai.BadRequestError, match="context is 256") as caught:
        sdk.completions.create(model="tiny", prompt="x " * 400)
    assert caught.value.code == "context_length"


def test_blocks_come_back_when_clients_leave(mill):
    for leave_after in (0, 1, 3):
        with Client(mill.url) as client, closing(client.stream("x", max_tokens=200, temperature=1)) as stream:
            for _ in range(leave_after):
                next(stream)
    end = time.monotonic() + 10
    while mill.metrics()["tokenmill_num_requests_running"] and time.monotonic() < end:
        time.sleep(0.05)
    metrics = mill.metrics()
    assert metrics["tokenmill_num_requests_running"] == 0
    assert metrics["tokenmill_num_requests_waiting"] == 0
    assert metrics["tokenmill_kv_blocks_used"] == 0
    assert metrics["tokenmill_kv_blocks_total"] == 256


def test_metrics_count_what_was_generated(mill, sdk):
    before = mill.metrics()
    usage = sdk.completions.create(prompt=PROMPTS[:3], **GREEDY).usage
    after = mill.metrics()
    grown = {name: after[name] - before[name] for name in before}
    assert grown["tokenmill_prompt_tokens_total"] == usage.prompt_tokens
    assert grown["tokenmill_generation_tokens_total"] == usage.completion_tokens
    assert grown["tokenmill_time_to_first_token_seconds_count"] == 3
    assert grown["tokenmill_e2e_request_latency_seconds_count"] == 3
    assert grown["tokenmill_inter_token_latency_seconds_sum"] > 0


def test_generate_says_the_same_from_package_and_url(mill, reference):
    options = ["--json", "--max-tokens", "40", "--temperature", "0", PROMPTS[2]]
    answers = [
        subprocess.run(
            [sys.executable, "-m", "cli.main", "generate", *source, *options],
            cwd=mill.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        )
        for source in ([], ["--url", mill.url])
    ]
    local, remote = (json.loads(answer.stdout) for answer in answers)
    assert_same(reference[PROMPTS[2]], local["ids"])
    assert local["ids"] == remote["ids"]
    assert (local["text"], local["finish_reason"]) == (remote["text"], remote["finish_reason"])
    assert local["logprobs"] == pytest.approx(remote["logprobs"], abs=1e-4)
    assert len(local["logprobs"]) == len(local["ids"])


def test_sigterm_lets_a_stream_end_then_exits_with_0(folder):
    with serving(folder, folder / "drain.log") as mill, Client(mill.url) as client:
        with closing(client.stream("secret of the house", max_tokens=200, temperature=1, seed=5)) as stream:
            next(stream)
            mill.process.send_signal(signal.SIGTERM)
            chunks = list(stream)
        assert chunks[-1].usage.completion_tokens >= 1
        assert mill.process.wait(30) == 0
        assert mill.process.stdout.read() == b""
        lines = [json.loads(line) for line in mill.log.read_text().splitlines()]
    messages = [line["message"] for line in lines]
    for message in ("loading", "ready", "request", "draining", "drained"):
        assert message in messages
    assert "secret of the house" not in mill.log.read_text()
