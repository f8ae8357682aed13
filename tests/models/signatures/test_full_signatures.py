"""`decode_full`: decode when nothing is asked for, and the changed logits' choice when something is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from tests.models.paged_driver import PagedDriver, sampling_rows

NEW = 8


@pytest.fixture(scope="module")
def decoder(tiny_checkpoint: Path) -> Decoder:
    return load_checkpoint(tiny_checkpoint)


@pytest.fixture(scope="module")
def driver(decoder: Decoder) -> PagedDriver:
    return PagedDriver(decoder)


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    random = np.random.default_rng(12)
    return [random.integers(3, 250, length).tolist() for length in (2, 5, 13)]


class Streams:
    """Rows that take all their tokens from `decode_full`: their last prompt token is run by it."""

    def __init__(self, driver: PagedDriver, prompts: list[list[int]]) -> None:
        driver.recycle()
        self.driver, self.prompts = driver, prompts
        self.table = driver.table([len(prompt) + NEW for prompt in prompts])
        self.ids = [list(prompt) for prompt in prompts]
        driver.prefill([prompt[:-1] for prompt in prompts], [0] * len(prompts), self.table)

    def step(self, sampling: dict[str, Any] | None = None, **changes: Any) -> dict[str, np.ndarray]:
        rows, longest = len(self.ids), max(map(len, self.ids)) + 1
        history = np.full([rows, longest], -1, np.int32)
        for row, ids in enumerate(self.ids):
            history[row, : len(ids)] = ids
        result = self.driver.call(
            "decode_full",
            **{
                "last_id": [ids[-1] for ids in self.ids],
                "length": [len(ids) - 1 for ids in self.ids],
                "block_table": self.table,
                "stop_ids": np.full([rows, 1], -1),
                "history": history,
                "generated_from": [len(prompt) for prompt in self.prompts],
                "penalties": [[1.0, 0.0, 0.0]] * rows,
                "bias_ids": np.zeros([rows, 0]),
                "bias_values": np.zeros([rows, 0]),
                "allowed": np.zeros([rows, 0]),
                **sampling_rows(rows, **(sampling or {})),
                **changes,
            },
        )
        for ids, made in zip(self.ids, result["ids"], strict=True):
            ids += made.tolist()
        return result

    def answers(self) -> list[list[int]]:
        return [ids[len(prompt) :] for ids, prompt in zip(self.ids, self.prompts, strict=True)]


SAMPLED = {"temperature": 1.3, "top_p": 0.9, "min_p": 0.01, "seed": np.arange(3) - 1}


@pytest.mark.parametrize("sampling", [{}, SAMPLED], ids=["greedy", "sampled"])
def test_nothing_asked_for_is_decode(driver: PagedDriver, prompts: list[list[int]], sampling: dict[str, Any]):
    driver.recycle()
    wanted = driver.stream(prompts, [1] * (NEW - 1), **sampling)
    streams = Streams(driver, prompts)
    for _ in range(NEW):
        streams.step(sampling)
    assert streams.answers() == wanted


def test_plain_steps_and_full_ones_mix(driver: PagedDriver, prompts: list[list[int]]):
    driver.recycle()
    wanted = driver.stream(prompts, [NEW - 1])
    streams = Streams(driver, prompts)
    streams.step()
    made = streams.answers()
    driver.extend(prompts, made, streams.table, 3)
    streams.ids = [[*prompt, *row] for prompt, row in zip(prompts, made, strict=True)]
    while len(streams.answers()[0]) < NEW:
        streams.step()
    assert streams.answers() == wanted


def test_greedy_follows_the_changed_logits_and_reports_the_raw_ones(
    decoder: Decoder, driver: PagedDriver, prompts: list[list[int]]
):
    streams = Streams(driver, prompts)
    bias = 3.0
    for _ in range(NEW):
        before = [list(ids) for ids in streams.ids]
        result = streams.step(
            penalties=[[1.7, 0.6, 0.9]] * 3, bias_ids=[[40, -1]] * 3, bias_values=[[bias, 50.0]] * 3
        )
        for row, ids in enumerate(before):
            raw = decoder(tf.constant([ids], tf.int32))[0, -1].numpy()
            logits = raw.astype(np.float64)
            logits[40] += bias
            answer = ids[len(prompts[row]) :]
            for value in set(ids):
                logits[value] *= 1.7 if logits[value] < 0 else 1 / 1.7
                logits[value] -= 0.6 * answer.count(value) + 0.9 * (value in answer)
            chosen = int(result["ids"][row, 0])
            assert chosen == logits.argmax()
            logprobs = tf.nn.log_softmax(raw).numpy()
            np.testing.assert_allclose(result["logprobs"][row, 0], logprobs[chosen], atol=1e-4)
            np.testing.assert_allclose(
                result["top_logprobs"][row, 0], np.sort(logprobs)[::-1][:20], atol=1e-4
            )


def test_a_mask_holds_for_its_row_alone(driver: PagedDriver, prompts: list[list[int]]):
    driver.recycle()
    wanted = driver.stream(prompts, [2])
    streams = Streams(driver, prompts)
    allowed = np.full([3, 9], -1, np.int32)
    allowed[1] = 0
    allowed[1, 2] = 1 << 5
    for _ in range(3):
        streams.step(allowed=allowed)
    assert streams.answers() == [wanted[0], [2 * 32 + 5] * 3, wanted[2]]


def test_a_banned_id_is_never_drawn(driver: PagedDriver, prompts: list[list[int]]):
    streams = Streams(driver, prompts)
    first = int(Streams(driver, prompts).step()["ids"][0, 0])
    allowed = np.full([3, 9], -1, np.int32)
    allowed[:, first // 32] ^= np.int32(1) << np.int32(first % 32)
    streams = Streams(driver, prompts)
    for seed in range(6):
        streams.step({"temperature": 2.0, "seed": seed}, allowed=allowed)
    assert all(first not in answer for answer in streams.answers())


def test_stop_ids_are_reported(driver: PagedDriver, prompts: list[list[int]]):
    made = Streams(driver, prompts).step()["ids"][:, 0]
    stops = np.full([3, 2], -1)
    stops[1, 1] = made[1]
    result = Streams(driver, prompts).step(stop_ids=stops)
    assert result["finished_at"].tolist() == [1, 0, 1]
