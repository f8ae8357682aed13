"""Paged prefill and decode against the uncached forward pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from tests.models.paged_driver import BLOCK_SIZE, PagedDriver, uncached

NEW = 9


@pytest.fixture(scope="module")
def decoder(tiny_checkpoint: Path) -> Decoder:
    return load_checkpoint(tiny_checkpoint)


@pytest.fixture(scope="module")
def driver(decoder: Decoder) -> PagedDriver:
    return PagedDriver(decoder)


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    random = np.random.default_rng(5)
    return [random.integers(3, 250, length).tolist() for length in (1, 3, 4, 7, 11, 5, 16, 2)]


@pytest.fixture(scope="module")
def wanted(decoder: Decoder, prompts: list[list[int]]) -> list[list[int]]:
    return [uncached(decoder, prompt, NEW) for prompt in prompts]


@pytest.mark.parametrize("steps", [[1] * (NEW - 1), [4, 4], [NEW - 1], [2, 5, 1]], ids=str)
def test_a_cached_stream_equals_the_uncached_forward(
    driver: PagedDriver, prompts: list[list[int]], wanted: list[list[int]], steps: list[int]
):
    for prompt, ids in zip(prompts[:4], wanted, strict=False):
        driver.recycle()
        assert driver.stream([prompt], steps) == [ids]


def test_a_batch_of_eight_equals_one_by_one(
    driver: PagedDriver, prompts: list[list[int]], wanted: list[list[int]]
):
    driver.recycle()
    assert driver.stream(prompts, [4, 4]) == wanted


@settings(max_examples=15, deadline=None)
@given(
    cuts=st.sets(st.integers(1, 15), max_size=4),
    rows=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    steps=st.permutations([1, 3, 4]),
)
def test_any_chunking_batch_and_placement_gives_the_same_ids(
    driver: PagedDriver,
    prompts: list[list[int]],
    wanted: list[list[int]],
    cuts: set[int],
    rows: list[int],
    steps: list[int],
):
    driver.recycle()
    found = driver.stream([prompts[row] for row in rows], steps, cuts=sorted(cuts))
    assert found == [wanted[row] for row in rows]


def test_logprobs_are_those_of_the_uncached_forward(
    decoder: Decoder, driver: PagedDriver, prompts: list[list[int]]
):
    driver.recycle()
    prompt, made = prompts[4], [[]]
    table = driver.table([len(prompt) + 6])
    first = driver.prefill([prompt], [0], table)
    made = [[int(first["next_id"][0])]]
    rest = driver.extend([prompt], made, table, 3)
    logits = decoder(tf.constant([prompt + made[0]], tf.int32))[0]
    logprobs = tf.nn.log_softmax(logits).numpy()[len(prompt) - 1 : -1]
    found = [first["logprob"][0], *rest["logprobs"][0]]
    np.testing.assert_allclose(found, logprobs[np.arange(4), made[0]], atol=1e-4)
    for top, ids, row in zip(rest["top_logprobs"][0], rest["top_ids"][0], logprobs[1:], strict=True):
        np.testing.assert_allclose(top, np.sort(row)[::-1][:20], atol=1e-4)
        np.testing.assert_allclose(top, row[ids], atol=1e-4)


def test_padded_rows_are_harmless(driver: PagedDriver, prompts: list[list[int]], wanted: list[list[int]]):
    driver.recycle()
    prompt = prompts[3]
    table = np.concatenate([driver.table([len(prompt) + NEW]), np.zeros([1, 4], np.int32)])
    result = driver.prefill([prompt, []], [0, 0], table)
    made = [[int(result["next_id"][0])], [0]]
    padded = [prompt, []]
    for steps in (4, 4):
        driver.extend(padded, made, table, steps)
        made[1] = [0]
    assert made[0] == wanted[3]


def test_a_table_wider_than_needed_changes_nothing(
    driver: PagedDriver, prompts: list[list[int]], wanted: list[list[int]]
):
    driver.recycle()
    prompt = prompts[2]
    table = np.pad(driver.table([len(prompt) + NEW]), [[0, 0], [0, 20]])
    made = [[int(driver.prefill([prompt], [0], table)["next_id"][0])]]
    driver.extend([prompt], made, table, NEW - 1)
    assert made[0] == wanted[2]


def test_sampled_ids_depend_on_neither_batch_nor_steps(driver: PagedDriver, prompts: list[list[int]]):
    sampling = {"temperature": 1.3, "top_p": 0.9}
    seeds = np.arange(len(prompts)) - 3
    driver.recycle()
    together = driver.stream(prompts, [3, 2, 3], **sampling, seed=seeds)
    for row in (0, 4, 6):
        driver.recycle()
        alone = driver.stream([prompts[row]], [1, 4, 3], cuts=[2], **sampling, seed=seeds[row])
        assert alone == [together[row]]
    driver.recycle()
    assert driver.stream(prompts, [8], **sampling, seed=seeds + 100) != together


def test_copied_blocks_carry_a_sequence_on(
    driver: PagedDriver, prompts: list[list[int]], wanted: list[list[int]]
):
    driver.recycle()
    prompt = prompts[6]
    table = driver.table([len(prompt) + NEW])
    made = [[int(driver.prefill([prompt], [0], table)["next_id"][0])]]
    copy = driver.table([len(prompt) + NEW])
    full = len(prompt) // BLOCK_SIZE
    driver.call("copy_blocks", source=table[0, :full], target=copy[0, :full])
    # The originals are overwritten: only the copy can make these ids.
    driver.prefill([[9] * len(prompt)], [0], table)
    driver.extend([prompt], made, copy, NEW - 1)
    assert made[0] == wanted[6]


def test_reset_zeroes_and_renews(driver: PagedDriver, prompts: list[list[int]]):
    driver.recycle()
    table = driver.table([8])
    before = driver.prefill([prompts[1]], [0], table)["nonce"]
    assert driver.cache.keys[0].gather(tf.constant([[[int(table[0, 0]), 0]]])).numpy().any()
    after = driver.call("reset")["nonce"]
    assert after != before
    assert driver.prefill([prompts[1]], [0], table)["nonce"] == after
    driver.call("reset")
    assert not driver.cache.keys[0].gather(tf.constant([[[int(table[0, 0]), 0]]])).numpy().any()
