from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.contract.signatures import MAX_XLA_STEPS, NO_ID
from models.packed.pack_decoder import pack_decoder
from models.paged_cache import PagedCache
from models.signatures.compiled_signatures import CompiledSignatures
from models.signatures.paged_signatures import PagedSignatures
from models.signatures.tensor_specs import input_specs

BLOCK_SIZE = 4
RANDOM = np.random.default_rng(1)


class Calls:
    """Both kinds of decode on one cache."""

    def __init__(self, checkpoint: Path, profile: str, dtype: str) -> None:
        decoder = pack_decoder(load_checkpoint(checkpoint), profile, dtype)
        self.cache = PagedCache(decoder.config.dims, 64, BLOCK_SIZE)
        self.cache.reset()
        endpoints = {
            **PagedSignatures(decoder, self.cache).endpoints(),
            **CompiledSignatures(decoder, self.cache).endpoints(),
        }
        self._functions = {
            name: tf.function(endpoints[name], input_signature=input_specs(name), autograph=False)
            for name in ("reset", "prefill", "decode", "decode_xla")
        }

    def call(self, name: str, **inputs: Any) -> dict[str, np.ndarray]:
        values = [tf.constant(inputs[spec.name], spec.dtype) for spec in input_specs(name)]
        return {key: value.numpy() for key, value in self._functions[name](*values).items()}


@pytest.fixture(scope="module")
def throughput(tiny_checkpoint: Path) -> Calls:
    return Calls(tiny_checkpoint, "throughput", "float32")


def sampling(rows: int, temperature: float = 0.0, top_p: float = 1.0) -> dict[str, np.ndarray]:
    return {
        "temperature": np.full(rows, temperature),
        "top_k": np.zeros(rows),
        "top_p": np.full(rows, top_p),
        "min_p": np.zeros(rows),
        "seed": np.arange(rows) + 5,
    }


def both(calls: Calls, lengths: list[int], steps: int, **how: Any) -> list[dict[str, np.ndarray]]:
    """The same decode call in both kinds, from equal memory."""
    rows = len(lengths)
    ids = RANDOM.integers(3, 250, (rows, max(lengths)))
    table = np.arange(1, 1 + 8 * rows).reshape(rows, 8)
    made = []
    for name in ("decode", "decode_xla"):
        chunk = {"ids": ids, "lengths": lengths, "start": np.zeros(rows), "block_table": table}
        first = calls.call("prefill", **chunk, **sampling(rows, **how))
        one = {"last_id": first["next_id"], "length": lengths, "block_table": table, "steps": steps}
        made.append(calls.call(name, **one, **sampling(rows, **how), stop_ids=np.full([rows, 1], NO_ID)))
        # What was written is read by the next call.
        follow = {**one, "last_id": made[-1]["ids"][:, -1], "length": np.array(lengths) + steps, "steps": 1}
        made[-1]["after"] = calls.call(
            "decode", **follow, **sampling(rows, **how), stop_ids=np.full([rows, 1], NO_ID)
        )["logprobs"]
    return made


WORK = [(1, {}), (5, {}), (MAX_XLA_STEPS, {"temperature": 1.0, "top_p": 0.9})]


def largest_difference(plain: dict[str, np.ndarray], compiled: dict[str, np.ndarray]) -> float:
    """Of log-probabilities, those of the next call included."""
    return max(np.abs(compiled[name] - plain[name]).max() for name in ("logprobs", "top_logprobs", "after"))


@pytest.mark.parametrize("lengths", [[9], [3, 12, 7]])
def test_compiled_steps_are_those_of_decode(throughput: Calls, lengths: list[int]):
    for steps, how in WORK:
        plain, compiled = both(throughput, lengths, steps, **how)
        assert compiled["ids"].shape == (len(lengths), steps)
        assert compiled["ids"].tolist() == plain["ids"].tolist()
        assert compiled["top_ids"].tolist() == plain["top_ids"].tolist()
        assert largest_difference(plain, compiled) < 1e-4


@pytest.mark.parametrize(
    ("profile", "dtype"),
    [("latency", "float32"), ("latency", "bfloat16"), ("latency", "int8"), ("throughput", "int8")],
)
def test_so_they_are_in_every_form_of_the_weights(tiny_checkpoint: Path, profile: str, dtype: str):
    calls = Calls(tiny_checkpoint, profile, dtype)
    for steps, how in WORK:
        plain, compiled = both(calls, [9], steps, **how)
        assert compiled["ids"].tolist() == plain["ids"].tolist()
        assert compiled["top_ids"].tolist() == plain["top_ids"].tolist()
        assert largest_difference(plain, compiled) < 1e-4


def test_places_behind_the_last_step_are_not_written(throughput: Calls):
    throughput.call("reset")
    both(throughput, [9], 2)
    for arena in (*throughput.cache.keys, *throughput.cache.values):
        blocks = arena.gather(tf.constant([[[block, head] for head in range(2)] for block in range(1, 9)]))
        places = np.transpose(blocks.numpy(), [0, 2, 1, 3]).reshape(32, -1)
        # Nine of the prompt, two steps, and the one that looked at them.
        assert (np.abs(places).sum(axis=1) > 0).tolist() == [True] * 12 + [False] * 20


@pytest.mark.parametrize("steps", [0, MAX_XLA_STEPS + 1])
def test_other_numbers_of_steps_are_refused(throughput: Calls, steps: int):
    one = {"last_id": [5], "length": [1], "block_table": [[1]], "steps": steps}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"`steps` must be 1 to 16"):
        throughput.call("decode_xla", **one, **sampling(1), stop_ids=[[NO_ID]])
