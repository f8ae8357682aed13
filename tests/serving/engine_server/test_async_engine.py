from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from models.contract.errors import EngineError, InvalidRequestError, OverloadedError, UnavailableError
from models.contract.sampling_params import SamplingParams
from serving.engine.finish_reason import FinishReason
from serving.engine_server.async_engine import AsyncLLMEngine
from tests.fakes import EngineUnderTest, scripted

LONG = SamplingParams(max_tokens=50, ignore_eos=True)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine; afterwards no thread of the engine may be left."""
    asyncio.run(asyncio.wait_for(test(), 30))
    names = [thread.name for thread in threading.enumerate()]
    assert "tokenmill-engine" not in names


@asynccontextmanager
async def started(test: EngineUnderTest) -> AsyncIterator[AsyncLLMEngine]:
    engine = AsyncLLMEngine(test.engine, test.runner)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


class Gate:
    """Lets the runner's steps through one by one."""

    def __init__(self, test: EngineUnderTest) -> None:
        self._permits = threading.Semaphore(0)
        self.entered = 0
        test.runner.before_step = self._enter

    def _enter(self, _output: object) -> None:
        self.entered += 1
        assert self._permits.acquire(timeout=20)

    def let_through(self, steps: int = 1) -> None:
        for _ in range(steps):
            self._permits.release()


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("did not happen")


async def text_of(engine: AsyncLLMEngine, name: str, prompt: str, params: SamplingParams) -> str:
    return "".join([o.text_delta async for o in engine.generate(name, list(prompt.encode()), params)])


def test_concurrent_answers_stream_to_their_own_readers():
    async def body() -> None:
        answers = {chr(97 + i): f"answer number {i}" for i in range(8)}
        async with started(EngineUnderTest(scripted(answers))) as engine:
            params = SamplingParams(max_tokens=40)
            texts = await asyncio.gather(*(text_of(engine, p, p, params) for p in answers))
        assert texts == list(answers.values())

    run(body)


def test_the_last_output_has_the_reason_and_every_token_comes_once():
    async def body() -> None:
        async with started(EngineUnderTest()) as engine:
            outputs = [output async for output in engine.generate("a", [1, 2], LONG)]
        assert [o.finish_reason for o in outputs[:-1]] == [None] * (len(outputs) - 1)
        assert outputs[-1].finish_reason is FinishReason.LENGTH
        assert sum(len(o.tokens) for o in outputs) == outputs[-1].num_output_tokens == 50

    run(body)


def test_a_slow_reader_gets_outputs_merged_and_holds_nobody_up():
    async def body() -> None:
        test = EngineUnderTest()
        gate = Gate(test)
        async with started(test) as engine, aclosing(engine.generate("a", [1, 2], LONG)) as outputs:
            gate.let_through()
            first = await anext(outputs)
            gate.let_through(50)
            await eventually(lambda: not test.engine.has_unfinished)
            await engine.tokenize([])
            rest = [output async for output in outputs]
        assert len(rest) == 1
        assert len(first.tokens) + len(rest[0].tokens) == 50

    run(body)


def test_closing_the_stream_aborts_before_the_next_step():
    async def body() -> None:
        test = EngineUnderTest()
        gate = Gate(test)
        async with started(test) as engine:
            stream = engine.generate("a", [1, 2], LONG)
            gate.let_through()
            await anext(stream)
            await eventually(lambda: gate.entered == 2)
            await stream.aclose()
            gate.let_through()
            await eventually(lambda: not test.engine.has_unfinished)
            assert gate.entered == 2
            test.check_blocks()
        assert [event[0] for event in test.observer.of("request_finished")] == ["abort"]

    run(body)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_cancelling_the_reader_aborts_in_every_phase(steps: int):
    async def body() -> None:
        test = EngineUnderTest(max_num_batched_tokens=20)
        gate = Gate(test)
        async with started(test) as engine:
            reader = asyncio.create_task(text_of(engine, "a", "x" * 30, SamplingParams(max_tokens=20)))
            gate.let_through(steps)
            await eventually(lambda: gate.entered == steps + 1)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
            gate.let_through(2)
            await eventually(lambda: not test.engine.has_unfinished)
            assert gate.entered <= steps + 2
            test.check_blocks()

    run(body)


def test_cancelling_before_admission_leaves_nothing_behind():
    async def body() -> None:
        test = EngineUnderTest()
        gate = Gate(test)
        async with started(test) as engine:
            first = asyncio.create_task(text_of(engine, "a", "x", SamplingParams(max_tokens=2)))
            await eventually(lambda: gate.entered == 1)
            second = asyncio.create_task(text_of(engine, "b", "y", LONG))
            await asyncio.sleep(0.02)
            second.cancel()
            gate.let_through(10)
            await first
            assert len(test.observer.of("request_queued")) == 1

    run(body)


def test_refusals_come_before_the_first_output():
    async def body() -> None:
        test = EngineUnderTest(max_num_seqs=1, max_waiting=1)
        gate = Gate(test)
        async with started(test) as engine:
            with pytest.raises(InvalidRequestError, match="prompt is empty"):
                await anext(engine.generate("a", [], LONG))
            readers = [
                asyncio.create_task(text_of(engine, n, "x", SamplingParams(max_tokens=2))) for n in "ab"
            ]
            await eventually(lambda: gate.entered == 1)
            late = asyncio.create_task(text_of(engine, "late", "x", LONG))
            twin = asyncio.create_task(text_of(engine, "a", "x", LONG))
            await asyncio.sleep(0.02)
            gate.let_through(10)
            with pytest.raises(OverloadedError):
                await late
            with pytest.raises(InvalidRequestError, match="in use"):
                await twin
            await asyncio.gather(*readers)
        assert {event[0] for event in test.observer.of("request_finished")} <= {"length", "stop"}

    run(body)


def test_tokenizing_runs_on_the_engines_thread_also_between_steps():
    async def body() -> None:
        test = EngineUnderTest()
        threads = []
        tokenize = test.runner.tokenize
        test.runner.tokenize = lambda texts: (
            threads.append(threading.current_thread().name) or tokenize(texts)
        )
        async with started(test) as engine:
            reader = asyncio.create_task(text_of(engine, "a", "x", LONG))
            assert await engine.tokenize(["ab", "c"]) == [[97, 98], [99]]
            assert await engine.detokenize([[97, 98], []]) == ["ab", ""]
            await reader
        assert threads == ["tokenmill-engine"]

    run(body)


def test_a_failing_job_fails_its_caller_only():
    async def body() -> None:
        test = EngineUnderTest()
        async with started(test) as engine:
            test.runner.tokenize = lambda texts: 1 // 0
            with pytest.raises(ZeroDivisionError):
                await engine.tokenize(["x"])
            assert await engine.detokenize([[97]]) == ["a"]
            assert engine.health().ready

    run(body)


def test_a_request_whose_steps_fail_ends_with_reason_error():
    async def body() -> None:
        test = EngineUnderTest()
        test.runner.failures += [RuntimeError(), RuntimeError()]
        async with started(test) as engine:
            (output,) = [output async for output in engine.generate("a", [1], LONG)]
            assert (output.finish_reason, output.error) == (FinishReason.ERROR, "RuntimeError")
            assert engine.health().ready

    run(body)


def test_a_crash_of_the_loop_reaches_every_stream_and_ends_readiness():
    async def body() -> None:
        test = EngineUnderTest()
        gate = Gate(test)
        engine = AsyncLLMEngine(test.engine, test.runner)
        await engine.start()
        readers = [asyncio.create_task(text_of(engine, name, "x", LONG)) for name in "abc"]
        await eventually(lambda: gate.entered == 1)
        waiting = asyncio.create_task(engine.tokenize(["x"]))
        await asyncio.sleep(0.02)
        test.engine.scheduler.blocks = None
        gate.let_through()
        results = await asyncio.gather(*readers, waiting, return_exceptions=True)
        assert [type(result) for result in results] == [EngineError] * 4
        health = engine.health()
        assert (health.ready, health.error) == (False, "AttributeError")
        with pytest.raises(EngineError, match="crashed: AttributeError"):
            await engine.tokenize(["x"])
        with pytest.raises(EngineError):
            await anext(engine.generate("d", [1], LONG))
        await engine.stop()

    run(body)


def test_stopping_drains_and_refuses_newcomers():
    async def body() -> None:
        test = EngineUnderTest()
        gate = Gate(test)
        engine = AsyncLLMEngine(test.engine, test.runner)
        await engine.start()
        reader = asyncio.create_task(text_of(engine, "a", "x", SamplingParams(max_tokens=5, ignore_eos=True)))
        await eventually(lambda: gate.entered == 1)
        stopping = asyncio.create_task(engine.stop(drain_seconds=20))
        await asyncio.sleep(0)
        assert not engine.health().ready
        with pytest.raises(UnavailableError):
            await anext(engine.generate("b", [1], LONG))
        gate.let_through(100)
        await stopping
        await reader
        assert [event[:2] for event in test.observer.of("request_finished")] == [("length", 5)]
        with pytest.raises(UnavailableError):
            await engine.tokenize(["x"])

    run(body)


def test_what_is_not_drained_in_time_is_aborted():
    async def body() -> None:
        test = EngineUnderTest(max_length=10_000, num_blocks=3000)
        test.runner.before_step = lambda output: (time.sleep(0.005), test.clock.advance(0.005))
        engine = AsyncLLMEngine(test.engine, test.runner)
        await engine.start()
        stream = engine.generate("a", [1], SamplingParams(max_tokens=9000, ignore_eos=True))
        await anext(stream)
        await engine.stop(drain_seconds=0.05)
        last = [output async for output in stream][-1]
        assert last.finish_reason is FinishReason.ABORT
        test.check_blocks()

    run(body)


def test_health_shows_a_step_that_hangs():
    async def body() -> None:
        test = EngineUnderTest()
        gate = Gate(test)
        async with started(test) as engine:
            assert engine.health().ready
            reader = asyncio.create_task(text_of(engine, "a", "x", SamplingParams(max_tokens=1)))
            await eventually(lambda: gate.entered == 1)
            test.clock.advance(7.0)
            health = engine.health()
            assert (health.unfinished, health.seconds_without_progress) == (1, 7.0)
            gate.let_through()
            await reader
            await eventually(lambda: engine.health().seconds_without_progress == 0)

    run(body)


def test_stopping_without_a_start_and_twice():
    async def body() -> None:
        test = EngineUnderTest()
        engine = AsyncLLMEngine(test.engine, test.runner)
        with pytest.raises(UnavailableError):
            await engine.tokenize(["x"])
        await engine.start()
        await engine.start()
        await engine.stop()
        await engine.stop()
        never = AsyncLLMEngine(EngineUnderTest().engine, test.runner)
        await never.stop()

    run(body)


def test_a_generator_that_is_dropped_is_aborted():
    async def body() -> None:
        test = EngineUnderTest()
        gate = Gate(test)
        async with started(test) as engine:
            stream = engine.generate("a", [1], LONG)
            gate.let_through()
            await anext(stream)
            await eventually(lambda: gate.entered == 2)
            del stream
            await asyncio.sleep(0.05)
            gate.let_through()
            await eventually(lambda: not test.engine.has_unfinished)
            assert gate.entered == 2

    run(body)


def test_much_text_is_tokenized_in_parts_between_which_steps_run():
    async def test() -> None:
        under_test = EngineUnderTest()
        calls: list[list[str]] = []

        def tokenize(texts: list[str]) -> list[list[int]]:
            calls.append(texts)
            return [[len(text)] for text in texts]

        under_test.runner.tokenize = tokenize
        async with started(under_test) as engine:
            texts = ["a" * size for size in (40_000, 20_000, 30_000, 90_000, 5)]
            assert await engine.tokenize(texts) == [[40_000], [20_000], [30_000], [90_000], [5]]
            assert [len(call) for call in calls] == [2, 1, 1, 1]
            assert await engine.tokenize([]) == []

    run(test)


def test_waiting_jobs_do_not_hold_up_a_running_request_for_long():
    async def test() -> None:
        under_test = EngineUnderTest()
        gate = Gate(under_test)
        steps_at_job: list[int] = []

        def tokenize(texts: list[str]) -> list[list[int]]:
            steps_at_job.append(gate.entered)
            under_test.clock.advance(1.0)
            return [[1] for _ in texts]

        under_test.runner.tokenize = tokenize
        async with started(under_test) as engine, aclosing(engine.generate("a", [1, 2], LONG)) as outputs:
            gate.let_through(1)
            await anext(outputs)
            await eventually(lambda: gate.entered == 2)
            jobs = [asyncio.create_task(engine.tokenize(["x"])) for _ in range(5)]
            await asyncio.sleep(0.05)
            gate.let_through(60)
            await asyncio.gather(*jobs)
        assert len(set(steps_at_job)) == 5

    run(test)
