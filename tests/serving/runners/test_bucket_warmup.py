from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

from models.contract.errors import EngineError
from serving.runners.bucket import Bucket
from serving.runners.bucket_warmup import BucketWarmup
from serving.runners.compiled_decode import CompiledDecode
from serving.runners.warmup_progress import WarmupProgress
from tests.serving.runners.recorder import PlainCalls, RunnerRecorder
from tests.serving.runners.test_compiled_decode import MANIFEST, rows

ALL = [Bucket(1, 4), Bucket(2, 4), Bucket(4, 4)]


class GatedCalls(PlainCalls):
    """Waits in each call until it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.gate = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, signature: str, **arrays: np.ndarray) -> dict[str, np.ndarray]:
        self.entered.release()
        assert self.gate.acquire(timeout=10)
        return super().__call__(signature, **arrays)


@pytest.fixture
def observer() -> RunnerRecorder:
    return RunnerRecorder()


@pytest.fixture
def decode(observer: RunnerRecorder) -> CompiledDecode:
    return CompiledDecode(MANIFEST, observer)


def test_every_bucket_is_called_once_the_smallest_first(decode: CompiledDecode, observer: RunnerRecorder):
    calls, ticks = PlainCalls(), iter(range(100))
    warmup = BucketWarmup(calls, decode, observer, clock=lambda: float(next(ticks)))
    assert warmup.progress == WarmupProgress(0, 3)
    warmup.run()
    assert calls.seen == [("decode_xla", bucket.rows, bucket.columns) for bucket in ALL]
    assert decode.warm == set(ALL)
    assert warmup.progress == WarmupProgress(3, 3)
    assert observer.of("buckets") == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert observer.of("compiled") == [(1.0,)] * 3
    warmup.run()
    assert len(calls.seen) == 3


def test_a_bucket_is_used_from_the_moment_it_is_compiled(decode: CompiledDecode, observer: RunnerRecorder):
    calls, requests = GatedCalls(), PlainCalls()
    warmup = BucketWarmup(calls, decode, observer)
    warmup.start()
    warmup.start()
    assert calls.entered.acquire(timeout=10)
    decode.run(requests, "decode", **rows(5))
    calls.gate.release()
    assert calls.entered.acquire(timeout=10)
    decode.run(requests, "decode", **rows(5))
    decode.run(requests, "decode", **rows(5, 5))
    assert [name for name, *_ in requests.seen] == ["decode", "decode_xla", "decode"]
    calls.gate.release(9)
    warmup.stop(wait=True)


def test_stopping_waits_for_the_compilation_and_begins_no_other(
    decode: CompiledDecode, observer: RunnerRecorder
):
    calls = GatedCalls()
    warmup = BucketWarmup(calls, decode, observer)
    warmup.start()
    assert calls.entered.acquire(timeout=10)
    warmup.stop(wait=False)
    assert warmup.running
    threading.Timer(0.05, calls.gate.release, [9]).start()
    warmup.stop(wait=True)
    assert len(calls.seen) == warmup.progress.warm == 1
    assert not warmup.running


def test_a_failed_compilation_is_told_and_leaves_decoding_uncompiled(
    decode: CompiledDecode, observer: RunnerRecorder, caplog: pytest.LogCaptureFixture
):
    calls, requests = PlainCalls(), PlainCalls()
    calls.fail = EngineError("no compiler.")
    warmup = BucketWarmup(calls, decode, observer)
    with caplog.at_level(logging.ERROR):
        warmup.run()
    assert warmup.progress == WarmupProgress(0, 3, "no compiler.")
    assert "decoding goes on without it" in caplog.text
    decode.run(requests, "decode", **rows(5))
    assert requests.seen == [("decode", 1, 1)]


def test_stopping_what_never_started_is_harmless(decode: CompiledDecode, observer: RunnerRecorder):
    warmup = BucketWarmup(PlainCalls(), decode, observer)
    warmup.stop(wait=True)
    assert not warmup.running
