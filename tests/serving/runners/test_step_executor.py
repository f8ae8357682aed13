from __future__ import annotations

import itertools

import numpy as np

from models.contract.sampling_params import SamplingParams
from models.contract.signatures import SIGNATURES, TOP_LOGPROBS
from serving.engine.decode_row import DecodeRow
from serving.engine.full_row import FullRow
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.verify_row import VerifyRow
from serving.runners.step_executor import StepExecutor


class Calls:
    """Answers `prefill` with each row's first id + 1000, `decode` with last id, last id + 1, …

    `decode_full` answers as `decode`, `verify` takes every draft and goes on with last id + 500.
    """

    def __init__(self, *nonces: int) -> None:
        self.names: list[str] = []
        self.rows: list[int] = []
        self._nonces = iter(nonces) if nonces else itertools.repeat(1)

    def __call__(self, signature: str, **arrays: np.ndarray) -> dict[str, np.ndarray]:
        assert list(arrays) == list(SIGNATURES[signature].inputs)
        self.names.append(signature)
        rows = len(arrays["block_table"])
        self.rows.append(rows)
        if signature == "prefill":
            shape, ids = (rows,), {"next_id": arrays["ids"][:, 0] + 1000}
        elif signature == "verify":
            shape = (rows, arrays["draft_ids"].shape[1] + 1)
            ids = {"accepted": arrays["draft_lengths"], "next_id": arrays["last_id"] + 500}
        else:
            shape = (rows, int(arrays.get("steps", 1)))
            ids = {"ids": arrays["last_id"][:, None] + np.arange(shape[1]), "finished_at": np.full(rows, 99)}
        scores = {"logprob" if signature == "prefill" else "logprobs": np.zeros(shape, np.float32)}
        top = {"top_ids": np.zeros((*shape, TOP_LOGPROBS)), "top_logprobs": np.zeros((*shape, TOP_LOGPROBS))}
        return {**ids, **scores, **top, "nonce": np.int64(next(self._nonces))}


def output(lengths: tuple[int, ...], last_ids: tuple[int, ...] = (), steps: int = 1) -> SchedulerOutput:
    params = SamplingParams()
    return SchedulerOutput(
        prefills=tuple(PrefillChunk(f"p{n}", (n,) * n, 0, (1,), params, True) for n in lengths),
        decodes=tuple(DecodeRow(f"d{i}", i, 5, (1, 2), params, ()) for i in last_ids),
        steps=steps,
    )


def test_results_come_in_the_order_of_the_rows_whatever_the_grouping():
    calls = Calls()
    result = StepExecutor(calls).execute(output((3, 300, 2, 200), (7, 8), steps=2), nonce=1)
    assert [token.id for token in result.prefills] == [1003, 1300, 1002, 1200]
    assert [[token.id for token in row] for row in result.decodes] == [[7, 8], [8, 9]]
    assert (calls.names, calls.rows) == (["prefill", "prefill", "decode"], [2, 2, 2])
    assert result.nonce == 1


def decode_row(last_id: int, **params) -> DecodeRow:
    return DecodeRow(f"r{last_id}", last_id, 5, (1, 2), SamplingParams(**params), ())


def test_each_kind_of_row_has_a_call_of_its_own():
    calls = Calls()
    step = SchedulerOutput(
        decodes=(decode_row(7),),
        fulls=(FullRow(decode_row(8, presence_penalty=1.0), (8, 9), 1),),
    )
    result = StepExecutor(calls).execute(step, nonce=1)
    assert calls.names == ["decode", "decode_full"]
    assert [[token.id for token in row] for row in result.decodes] == [[7]]
    assert [token.id for token in result.fulls] == [8]
    step = SchedulerOutput(verifies=(VerifyRow(decode_row(7), (1, 2)), VerifyRow(decode_row(8))))
    result = StepExecutor(calls).execute(step, nonce=1)
    assert calls.names[2:] == ["verify"]
    assert [[token.id for token in row] for row in result.verifies] == [[1, 2, 507], [508]]


def test_only_what_has_rows_is_called():
    calls = Calls()
    StepExecutor(calls).execute(output((), (1,)), nonce=1)
    StepExecutor(calls).execute(output((4,)), nonce=1)
    assert calls.names == ["decode", "prefill"]


def test_a_nonce_that_changes_on_the_way_leaves_the_step_without_results():
    calls = Calls(1, 2)
    result = StepExecutor(calls).execute(output((4,), (7,)), nonce=1)
    assert (result.nonce, result.prefills, result.decodes) == (2, (), ())
    calls = Calls(2, 2)
    result = StepExecutor(calls).execute(output((4,), (7,)), nonce=1)
    assert (result.nonce, calls.names) == (2, ["prefill"])


def test_times_of_both_kinds_of_calls():
    ticks = iter([10.0, 12.0, 15.0])
    result = StepExecutor(Calls(), clock=lambda: next(ticks)).execute(output((4,), (7,)), nonce=1)
    assert (result.prefill_seconds, result.decode_seconds) == (2.0, 3.0)
