"""A scripted engine with AsyncLLMEngine's interface, and a gateway around it on a real socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from models.contract.sampling_params import SamplingParams
from monitoring.metrics_registry import MetricsRegistry
from serving.engine.engine_config import EngineConfig
from serving.engine.finish_reason import FinishReason
from serving.engine.request_output import RequestOutput
from serving.engine.token_output import TokenOutput
from serving.engine_server.engine_health import EngineHealth
from serving.gateway.gateway import Gateway
from serving.gateway.gateway_config import GatewayConfig
from serving.gateway.gateway_server import GatewayServer
from serving.gateway.served_model import ServedModel

BYTE_VOCAB = [bytes([i]) for i in range(256)]
"""One id per byte: ids and text are easy to read off each other."""

MODEL = ServedModel(
    name="mill",
    config=EngineConfig(vocab_size=256, max_length=64, block_size=4, num_blocks=65),
    vocab=BYTE_VOCAB,
    created=1_700_000_000,
    fingerprint="fp_fake",
)


def prompt_ids(text: str) -> list[int]:
    return list(text.encode())


@dataclass
class FakeEngine:
    """Answers every prompt with `script`, one id per `interval`, at most `max_tokens` of them.

    Args:
        script: (text delta, id) pairs.
        interval: seconds before each output.
        first: seconds before the first output, instead of `interval`.
        tokenize_seconds: seconds that tokenising takes.
        failure: raised instead of output number `fail_at`, for `fail_prompt` or, if None, for all.
        last_reason: how every answer ends, instead of "stop" or "length".
        stuck_seconds: what `health` says of the time without progress.
        crashed: what `health` says has crashed the engine.
    """

    script: list[tuple[str, int]] = field(default_factory=lambda: [(c, ord(c)) for c in "Hello, mill!"])
    interval: float = 0.0
    first: float | None = None
    tokenize_seconds: float = 0.0
    failure: Exception | None = None
    fail_at: int = 0
    fail_prompt: tuple[int, ...] | None = None
    last_reason: FinishReason | None = None
    requests: dict[str, tuple[list[int], SamplingParams]] = field(default_factory=dict)
    streamed: dict[str, bool] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    ended: list[str] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)
    stuck_seconds: float = 0.0
    crashed: str | None = None

    async def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        await asyncio.sleep(self.tokenize_seconds)
        return [prompt_ids(text) for text in texts]

    async def generate(
        self, request_id: str, prompt_ids: Sequence[int], params: SamplingParams, *, stream: bool = True
    ) -> AsyncGenerator[RequestOutput, None]:
        self.requests[request_id] = (list(prompt_ids), params)
        self.streamed[request_id] = stream
        self.running.add(request_id)
        try:
            script = self.script[: params.max_tokens]
            for number, (text, token) in enumerate(script):
                pause = self.interval if number or self.first is None else self.first
                await asyncio.sleep(pause)
                failing = self.fail_prompt in (None, tuple(prompt_ids))
                if self.failure and failing and number == self.fail_at:
                    raise self.failure
                self.steps[request_id] = number + 1
                yield self._output(request_id, len(prompt_ids), params, script, number, text, token)
        finally:
            self.running.discard(request_id)
            self.ended.append(request_id)

    def health(self) -> EngineHealth:
        return EngineHealth(True, len(self.running), self.stuck_seconds, self.crashed)

    def _output(self, request_id, num_prompt, params, script, number, text, token) -> RequestOutput:
        reason = None
        if number == len(script) - 1:
            natural = FinishReason.STOP if len(script) < params.max_tokens else FinishReason.LENGTH
            reason = self.last_reason or natural
        top = tuple((token + i, -0.5 - i) for i in range(params.logprobs or 0))
        tokens = (TokenOutput(token, -0.5, top),)
        return RequestOutput(request_id, text, tokens, reason, num_prompt, number + 1)


@dataclass
class RunningGateway:
    url: str
    engine: FakeEngine
    gateway: Gateway
    loop: asyncio.AbstractEventLoop

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").rsplit(":", 1)
        return host, int(port)


@contextmanager
def running_gateway(
    engine: FakeEngine | None = None, config: GatewayConfig | None = None, *, opened: bool = True
) -> Iterator[RunningGateway]:
    """The gateway over a fake engine, on a free port, in a thread of its own."""
    engine = engine or FakeEngine()
    ready: list[RunningGateway] = []
    started, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        gateway = Gateway(config, MetricsRegistry())
        server = GatewayServer(gateway, "127.0.0.1", 0)
        await server.start()
        if opened:
            gateway.open(engine, MODEL)
            gateway.warmed()
        ready.append(RunningGateway(server.url, engine, gateway, asyncio.get_running_loop()))
        started.set()
        await stop.wait()
        await server.close()

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    assert started.wait(10), "the gateway did not start"
    try:
        yield ready[0]
    finally:
        ready[0].loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        assert not thread.is_alive(), "the gateway did not stop"


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until a condition holds."""
    done = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        done.wait(0.01)
    raise AssertionError("the condition did not come true")
