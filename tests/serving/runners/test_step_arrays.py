from __future__ import annotations

import numpy as np

from models.contract.sampling_params import SamplingParams
from models.contract.signatures import NO_ID, SIGNATURES, TOP_LOGPROBS
from serving.engine.decode_row import DecodeRow
from serving.engine.full_row import FullRow
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.token_output import TokenOutput
from serving.engine.verify_row import VerifyRow
from serving.engine.vocabulary_mask import mask_without
from serving.runners.step_arrays import (
    decode_arrays,
    decode_tokens,
    full_arrays,
    full_tokens,
    prefill_arrays,
    prefill_groups,
    prefill_tokens,
    verify_arrays,
    verify_tokens,
)


def chunk(length: int, start: int = 0, table: tuple[int, ...] = (1,), **params) -> PrefillChunk:
    return PrefillChunk("r", tuple(range(5, 5 + length)), start, table, SamplingParams(**params), True)


def row(table: tuple[int, ...] = (1,), stop_ids: tuple[int, ...] = (), **params) -> DecodeRow:
    return DecodeRow("r", 7, 3, table, SamplingParams(**params), stop_ids)


def check_signature(name: str, arrays: dict[str, np.ndarray]) -> None:
    """Names, dtypes and ranks are the signature's."""
    inputs = SIGNATURES[name].inputs
    assert list(arrays) == list(inputs)
    assert {k: (a.dtype.name, a.ndim) for k, a in arrays.items()} == {
        k: (spec.dtype, len(spec.shape)) for k, spec in inputs.items()
    }


def test_prefill_rows_are_padded_with_the_null_block():
    arrays = prefill_arrays([chunk(3, 4, (1, 2)), chunk(1, 0, (9,), seed=-(2**63), temperature=0.5, top_k=3)])
    check_signature("prefill", arrays)
    assert arrays["ids"].tolist() == [[5, 6, 7], [5, 0, 0]]
    assert arrays["lengths"].tolist() == [3, 1]
    assert arrays["start"].tolist() == [4, 0]
    assert arrays["block_table"].tolist() == [[1, 2], [9, 0]]
    assert arrays["seed"].tolist() == [0, -(2**63)]
    assert arrays["temperature"].tolist() == [1.0, 0.5]
    assert arrays["top_k"].tolist() == [0, 3]


def test_decode_rows_are_padded_with_the_null_block_and_no_id():
    arrays = decode_arrays([row((1, 2), (0, 4)), row((3,), (5,), top_p=0.5, min_p=0.25)], 4)
    check_signature("decode", arrays)
    assert arrays["last_id"].tolist() == [7, 7]
    assert arrays["length"].tolist() == [3, 3]
    assert arrays["block_table"].tolist() == [[1, 2], [3, 0]]
    assert arrays["stop_ids"].tolist() == [[0, 4], [5, NO_ID]]
    assert int(arrays["steps"]) == 4
    assert (arrays["top_p"].tolist(), arrays["min_p"].tolist()) == ([1.0, 0.5], [0.0, 0.25])


def test_without_stop_ids_there_is_still_a_column():
    assert decode_arrays([row()], 1)["stop_ids"].tolist() == [[NO_ID]]


def test_chunks_of_like_length_share_a_call():
    assert prefill_groups([]) == []
    assert prefill_groups([chunk(5), chunk(30), chunk(9)]) == [[1, 2, 0]]
    assert prefill_groups([chunk(4), chunk(400), chunk(220), chunk(20)]) == [[1, 2], [3, 0]]


def outputs(steps: int = 0) -> dict[str, np.ndarray]:
    shape = (2, steps) if steps else (2,)
    count = int(np.prod(shape))
    ids, logprobs = np.arange(10, 10 + count, dtype=np.int32), -np.arange(count, dtype=np.float32)
    top = np.tile(np.arange(TOP_LOGPROBS, dtype=np.int32), (*shape, 1))
    top[..., 2:] = NO_ID
    names = ("ids", "logprobs") if steps else ("next_id", "logprob")
    return {
        names[0]: ids.reshape(shape),
        names[1]: logprobs.reshape(shape),
        "top_ids": top,
        "top_logprobs": -top.astype(np.float32) / 2,
    }


def test_prefill_gives_one_token_per_chunk_with_as_many_alternatives_as_asked_for():
    got = prefill_tokens([chunk(1), chunk(1, logprobs=1)], outputs())
    assert got == [TokenOutput(10, 0.0), TokenOutput(11, -1.0, ((0, 0.0),))]


def test_alternatives_that_the_vocabulary_does_not_have_are_left_out():
    got = prefill_tokens([chunk(1, logprobs=5), chunk(1)], outputs())
    assert got[0].top == ((0, 0.0), (1, -0.5))


def test_decode_cuts_rows_behind_their_stop_id():
    arrays = {**outputs(steps=3), "finished_at": np.array([1, 3], np.int32)}
    got = decode_tokens([row(), row(logprobs=1)], arrays)
    assert [[t.id for t in tokens] for tokens in got] == [[10, 11], [13, 14, 15]]
    assert got[1][0] == TokenOutput(13, -3.0, ((0, 0.0),))
    assert all(type(t.id) is int and type(t.logprob) is float for tokens in got for t in tokens)


def test_full_rows_are_padded_to_powers_of_two():
    penalised = row(repetition_penalty=1.5, frequency_penalty=0.25, presence_penalty=-0.5, temperature=0.0)
    biased = row(logit_bias=((3, 1.5), (9, -100.0), (1, 0.5)), stop_ids=(5,))
    short = row(min_tokens=2, stop_ids=(33, 4))
    arrays = full_arrays(
        [
            FullRow(penalised, (1, 2, 3, 2, 1), 3),
            FullRow(biased),
            FullRow(short, allowed=mask_without(40, (33, 4))),
        ]
    )
    check_signature("decode_full", arrays)
    none = [NO_ID] * 8
    assert arrays["history"].tolist() == [[1, 2, 3, 2, 1, *none[5:]], none, none]
    assert arrays["generated_from"].tolist() == [3, 0, 0]
    assert arrays["penalties"].tolist() == [[1.5, 0.25, -0.5], [1, 0, 0], [1, 0, 0]]
    assert arrays["bias_ids"].tolist() == [none[:4], [3, 9, 1, NO_ID], none[:4]]
    assert arrays["bias_values"].tolist() == [[0] * 4, [1.5, -100, 0.5, 0], [0] * 4]
    assert arrays["allowed"].tolist() == [[-1, -1], [-1, -1], [~(1 << 4), 0b11111101]]
    assert arrays["stop_ids"].tolist() == [[NO_ID, NO_ID], [5, NO_ID], [33, 4]]


def test_what_no_row_asks_for_has_no_columns():
    arrays = full_arrays([FullRow(row(logit_bias=((3, 1.5),)))])
    check_signature("decode_full", arrays)
    assert [arrays[name].shape for name in ("history", "bias_ids", "allowed")] == [(1, 0), (1, 1), (1, 0)]
    assert full_arrays([FullRow(row(), (1, 2, 3))])["bias_values"].shape == (1, 0)


def test_a_full_row_makes_one_token():
    arrays = {**outputs(steps=1), "finished_at": np.array([0, 1], np.int32)}
    got = full_tokens([FullRow(row()), FullRow(row(logprobs=1))], arrays)
    assert got == [TokenOutput(10, 0.0), TokenOutput(11, -1.0, ((0, 0.0),))]


def test_drafts_are_padded_with_an_id_that_exists():
    arrays = verify_arrays([VerifyRow(row((1, 2), seed=5), (8, 9, 8)), VerifyRow(row(), ())])
    check_signature("verify", arrays)
    assert arrays["draft_ids"].tolist() == [[8, 9, 8], [0, 0, 0]]
    assert arrays["draft_lengths"].tolist() == [3, 0]
    assert arrays["last_id"].tolist() == [7, 7]
    assert arrays["block_table"].tolist() == [[1, 2], [1, 0]]
    assert arrays["seed"].tolist() == [5, 0]


def test_right_guesses_come_before_the_id_behind_them():
    steps = outputs(steps=4)
    arrays = {
        "accepted": np.array([2, 0], np.int32),
        "next_id": np.array([50, 60], np.int32),
        **{name: steps[name] for name in ("logprobs", "top_ids", "top_logprobs")},
    }
    got = verify_tokens([VerifyRow(row(logprobs=1), (8, 9, 7)), VerifyRow(row(), (8,))], arrays)
    top = ((0, 0.0),)
    assert got[0] == (TokenOutput(8, 0.0, top), TokenOutput(9, -1.0, top), TokenOutput(50, -2.0, top))
    assert got[1] == (TokenOutput(60, -4.0),)
    assert all(type(token.id) is int for tokens in got for token in tokens)
