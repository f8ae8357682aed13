"""Which compiled shape a decode call is padded to."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.manifest import Manifest, ModelDims, TokenizerInfo
from serving.runners.bucket import Bucket
from serving.runners.bucket_choice import BucketChoice

GPT2_SMALL = Manifest(
    model="gpt2",
    family="gpt2",
    dims=ModelDims(50257, 768, 3072, 12, 12, 12, 64),
    max_length=1024,
    block_size=16,
    num_blocks=257,
    dtype="float32",
    kv_dtype="float32",
    bos_id=None,
    eos_ids=(50256,),
    tokenizer=TokenizerInfo("byte_level_bpe", "", False, ()),
    memory_bytes={"weights": 494_000_000},
    xla_buckets=((8, 256), (1, 128), (1, 1024), (1, 512), (4, 200), (8, 250)),
)
BUCKETS = BucketChoice(GPT2_SMALL).buckets


def choose(rows: int, columns: int, warm: list[Bucket] = BUCKETS, **changes: object) -> Bucket | None:
    return BucketChoice(dataclasses.replace(GPT2_SMALL, **changes)).cheapest(rows, columns, warm)


def test_lengths_become_columns_and_small_buckets_come_first():
    assert [Bucket(1, 8), Bucket(1, 32), Bucket(4, 13), Bucket(1, 64), Bucket(8, 16)] == BUCKETS


def test_the_tightest_cover_is_chosen():
    assert choose(1, 5) == choose(1, 8) == Bucket(1, 8)
    assert choose(1, 9) == Bucket(1, 32)
    assert choose(3, 13) == choose(4, 12) == Bucket(4, 13)
    assert choose(7, 16) == Bucket(8, 16)


def test_only_warm_buckets_that_cover_rows_and_columns_count():
    assert choose(1, 5, []) is None
    assert choose(1, 9, [Bucket(1, 8)]) is None
    assert choose(1, 65) is None


def test_rows_that_no_bucket_holds_go_in_several_calls():
    assert choose(16, 16, [Bucket(8, 16), Bucket(4, 16)]) == Bucket(8, 16)
    assert choose(20, 16, [Bucket(16, 16), Bucket(4, 16)]) == Bucket(16, 16)
    assert choose(9, 16, [Bucket(16, 16), Bucket(8, 16)]) == Bucket(16, 16)


def test_calls_that_read_the_weights_too_often_are_not_worth_it():
    assert choose(16, 1, [Bucket(1, 8)]) is None


def test_padding_that_costs_more_than_compilation_saves_is_not_worth_it():
    assert choose(1, 40) == Bucket(1, 64)
    assert choose(8, 6, [Bucket(8, 16)]) == Bucket(8, 16)
    assert choose(1, 1, [Bucket(8, 1)]) is None
    assert choose(8, 2, [Bucket(8, 64)]) is None


def test_weights_that_are_widened_without_xla_bear_more_padding():
    assert choose(8, 2, [Bucket(8, 64)], dtype="int8") == Bucket(8, 64)


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 70),
    warm=st.sets(st.builds(Bucket, st.integers(1, 32), st.integers(1, 64))),
)
def test_what_is_chosen_is_warm_and_covers(rows: int, columns: int, warm: set[Bucket]):
    found = choose(rows, columns, sorted(warm, key=lambda bucket: bucket.blocks))
    assert found is None or (found in warm and found.columns >= columns)
    exact = Bucket(rows, columns)
    assert choose(rows, columns, [*warm, exact]) == exact


@pytest.mark.parametrize("memory", [{}, {"weights": 0}])
def test_a_manifest_that_does_not_know_its_weights_pads_a_call_to_twice_its_length_at_most(
    memory: dict[str, int],
):
    assert choose(1, 8, [Bucket(1, 17)], memory_bytes=memory) is None
    assert choose(1, 8, [Bucket(1, 8)], memory_bytes=memory) == Bucket(1, 8)
