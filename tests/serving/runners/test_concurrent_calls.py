"""Several clients on one session, each on blocks of its own, as a model server lets them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from serving.runners.local_runner import LocalRunner
from serving.runners.session_model import SessionModel

CLIENTS = 4
ROUNDS = 6
STEPS = (1, 3, 4, 2)
BLOCKS = 16
"""Blocks of a client; 4 tokens each."""


@pytest.fixture(scope="module")
def runner(tiny_package: Path) -> Iterator[LocalRunner]:
    with LocalRunner(tiny_package) as runner:
        yield runner


def stream(model: SessionModel, signature: str, client: int, seed: int, temperature: float) -> list[int]:
    """A prompt and what follows it, in the client's own blocks."""
    random = np.random.default_rng([client, seed])
    prompt = random.integers(3, 250, random.integers(3, 20)).astype(np.int32)
    table = np.arange(1 + client * BLOCKS, 1 + (client + 1) * BLOCKS, dtype=np.int32)[None]
    one = np.ones(1, np.int32)
    sampling = {
        "temperature": np.full(1, temperature, np.float32),
        "top_k": 0 * one,
        "top_p": np.ones(1, np.float32),
        "min_p": np.zeros(1, np.float32),
        "seed": np.array([seed], np.int64),
    }
    first = model.call(
        "prefill", ids=prompt[None], lengths=one * len(prompt), start=0 * one, block_table=table, **sampling
    )
    ids = [int(first["next_id"][0])]
    for steps in STEPS:
        made = model.call(
            signature,
            last_id=one * ids[-1],
            length=one * (len(prompt) + len(ids) - 1),
            block_table=table,
            stop_ids=-one[None],
            steps=np.array(steps, np.int32),
            **sampling,
        )
        ids += made["ids"][0].tolist()
    return ids


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_clients_at_once_get_what_each_gets_alone(runner: LocalRunner, temperature: float):
    together, alone = at_once_and_alone(runner.model, "decode", temperature)
    assert together == alone


def at_once_and_alone(
    model: SessionModel, signature: str, temperature: float
) -> tuple[list[list[list[int]]], list[list[list[int]]]]:
    """Ids that each client gets in each round while all call at once, and those it gets alone."""
    alone = {
        (client, seed): stream(model, signature, client, seed, temperature)
        for client in range(CLIENTS)
        for seed in range(ROUNDS)
    }
    start = Barrier(CLIENTS)

    def client(number: int) -> list[list[int]]:
        start.wait(timeout=10)
        return [stream(model, signature, number, seed, temperature) for seed in range(ROUNDS)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        together = list(pool.map(client, range(CLIENTS)))
    return together, [[alone[number, seed] for seed in range(ROUNDS)] for number in range(CLIENTS)]


def test_first_calls_at_once_build_one_executor_each(tiny_package: Path):
    built: list[str] = []
    with SessionModel(tiny_package, executor_built=built.append) as model:
        start = Barrier(CLIENTS)

        def first(number: int) -> list[int]:
            start.wait(timeout=10)
            return stream(model, "decode", number, 0, 0.0)

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(first, range(CLIENTS)))
    assert sorted(built) == ["decode", "prefill"]
