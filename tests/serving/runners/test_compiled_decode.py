from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from models.contract.manifest import Manifest
from models.contract.sampling_params import SamplingParams
from models.contract.signatures import MAX_XLA_STEPS, SIGNATURES
from serving.engine.decode_row import DecodeRow
from serving.runners.bucket import Bucket
from serving.runners.compiled_decode import CompiledDecode
from serving.runners.step_arrays import Arrays, decode_arrays
from tests.serving.runners.recorder import PlainCalls, RunnerRecorder
from tests.serving.runners.test_bucket_choice import GPT2_SMALL

MANIFEST = dataclasses.replace(
    GPT2_SMALL, xla_buckets=((1, 64), (2, 64), (4, 64)), signatures=tuple(SIGNATURES)
)


def rows(*lengths: int, steps: int = 1, blocks: int | None = None) -> Arrays:
    table = tuple(range(1, 1 + (blocks or -(-(max(lengths) + steps) // 16))))
    params = SamplingParams()
    return decode_arrays(
        [DecodeRow(str(i), 100 + i, length, table, params, ()) for i, length in enumerate(lengths)], steps
    )


@pytest.fixture
def observer() -> RunnerRecorder:
    return RunnerRecorder()


@pytest.fixture
def decode(observer: RunnerRecorder) -> CompiledDecode:
    return made(MANIFEST, observer)


def made(manifest: Manifest, observer: RunnerRecorder) -> CompiledDecode:
    decode = CompiledDecode(manifest, observer)
    for bucket in decode.buckets:
        decode.add_warm(bucket)
    return decode


def test_a_call_that_a_warm_bucket_covers_runs_compiled(decode: CompiledDecode, observer: RunnerRecorder):
    calls = PlainCalls()
    outputs = decode.run(calls, "decode", **rows(5, 40, 9))
    assert calls.seen == [("decode_xla", 4, 4)]
    assert outputs["ids"].tolist() == [[100], [101], [102]]
    assert outputs["nonce"] == 1
    assert observer.of("decode_call") == [(True,)]


def test_rows_beyond_the_largest_bucket_go_in_several_calls(decode: CompiledDecode, observer: RunnerRecorder):
    calls = PlainCalls()
    outputs = decode.run(calls, "decode", **rows(5, 40, 9, 7, 8, 6, 5))
    assert calls.seen == [("decode_xla", 4, 4)] * 2
    assert outputs["ids"].tolist() == [[100], [101], [102], [103], [104], [105], [106]]
    assert observer.of("decode_call") == [(True,)]


def test_before_any_bucket_is_warm_nothing_is_compiled(observer: RunnerRecorder):
    calls = PlainCalls()
    CompiledDecode(MANIFEST, observer).run(calls, "decode", **rows(5))
    assert calls.seen == [("decode", 1, 1)]
    assert observer.of("decode_call") == [(False,)]


def test_the_calls_own_steps_must_fit_into_the_bucket(decode: CompiledDecode):
    calls = PlainCalls()
    decode.run(calls, "decode", **rows(60, steps=4))
    decode.run(calls, "decode", **rows(61, steps=4))
    assert [name for name, *_ in calls.seen] == ["decode_xla", "decode"]


def test_more_steps_than_are_compiled_run_uncompiled(decode: CompiledDecode):
    calls = PlainCalls()
    decode.run(calls, "decode", **rows(5, steps=MAX_XLA_STEPS))
    decode.run(calls, "decode", **rows(5, steps=MAX_XLA_STEPS + 1))
    assert [name for name, *_ in calls.seen] == ["decode_xla", "decode"]


def test_reserved_blocks_beyond_the_bucket_do_not_count(decode: CompiledDecode):
    calls = PlainCalls()
    decode.run(calls, "decode", **rows(5, blocks=9))
    assert calls.seen == [("decode_xla", 1, 4)]


def test_other_signatures_pass_unchanged(decode: CompiledDecode, observer: RunnerRecorder):
    calls = PlainCalls()
    decode.run(calls, "verify", last_id=np.zeros(1, np.int32), block_table=np.zeros((1, 1), np.int32))
    assert calls.seen == [("verify", 1, 1)]
    assert observer.events == []


def test_a_package_without_the_signature_has_no_buckets(observer: RunnerRecorder):
    without = dataclasses.replace(MANIFEST, signatures=("decode",))
    assert CompiledDecode(without, observer).buckets == []
    assert CompiledDecode(MANIFEST, observer).buckets == [Bucket(1, 4), Bucket(2, 4), Bucket(4, 4)]
