"""Drives a decoder's paged signatures as an engine would, eagerly and on any block placement."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from models.contract.signatures import NO_ID
from models.decoder import Decoder
from models.paged_cache import PagedCache
from models.signatures.paged_signatures import PagedSignatures
from models.signatures.tensor_specs import input_specs

BLOCK_SIZE = 4
NUM_BLOCKS = 64


class PagedDriver:
    """Prefill and decode of a few rows at once.

    Args:
        decoder: the network.
        seed: of the order in which blocks are handed out.
    """

    def __init__(self, decoder: Decoder, seed: int = 0) -> None:
        self.cache = PagedCache(decoder.config.dims, NUM_BLOCKS, BLOCK_SIZE)
        self.cache.reset()
        endpoints = PagedSignatures(decoder, self.cache).endpoints()
        self._functions = {
            name: tf.function(endpoint, input_signature=input_specs(name), autograph=False)
            for name, endpoint in endpoints.items()
        }
        self._random = np.random.default_rng(seed)
        self._free: list[int] = []
        self.recycle()

    def recycle(self) -> None:
        """Hand out blocks from the start again, in a new order, without zeroing them."""
        self._free = self._random.permutation(np.arange(1, NUM_BLOCKS)).tolist()

    def table(self, lengths: Sequence[int]) -> np.ndarray:
        """A block table [B, K] for rows that grow to these lengths."""
        needs = [-(-length // BLOCK_SIZE) for length in lengths]
        table = np.zeros([len(lengths), max(needs)], np.int32)
        for row, need in enumerate(needs):
            table[row, :need] = [self._free.pop() for _ in range(need)]
        return table

    def call(self, name: str, **inputs: Any) -> dict[str, np.ndarray]:
        """One signature with its inputs by name."""
        values = [
            tf.constant(inputs[spec.name], spec.dtype) for spec in self._functions[name].input_signature
        ]
        return {key: value.numpy() for key, value in self._functions[name](*values).items()}

    def prefill(
        self, chunks: Sequence[Sequence[int]], start: Sequence[int], table: np.ndarray, **sampling: Any
    ) -> dict[str, np.ndarray]:
        """One chunk per row, padded; a row may be empty."""
        lengths = [len(chunk) for chunk in chunks]
        ids = np.zeros([len(chunks), max(lengths)], np.int32)
        for row, chunk in enumerate(chunks):
            ids[row, : len(chunk)] = chunk
        rows = sampling_rows(len(chunks), **sampling)
        return self.call("prefill", ids=ids, lengths=lengths, start=start, block_table=table, **rows)

    def stream(
        self,
        prompts: Sequence[Sequence[int]],
        steps: Sequence[int],
        cuts: Sequence[int] = (),
        **sampling: Any,
    ) -> list[list[int]]:
        """Ids that follow each prompt: prefill in chunks that end at `cuts`, then decode `steps`."""
        table = self.table([len(prompt) + sum(steps) + 1 for prompt in prompts])
        made: list[list[int]] = [[] for _ in prompts]
        bounds = [0, *sorted(cuts), max(map(len, prompts))]
        for low, high in itertools.pairwise(bounds):
            chunks = [prompt[low:high] for prompt in prompts]
            if any(chunks):
                start = [min(low, len(prompt)) for prompt in prompts]
                result = self.prefill(chunks, start, table, **sampling)
                for row, chunk in enumerate(chunks):
                    if chunk and high >= len(prompts[row]):
                        made[row] = [int(result["next_id"][row])]
        for count in steps:
            self.extend(prompts, made, table, count, **sampling)
        return made

    def extend(
        self,
        prompts: Sequence[Sequence[int]],
        made: list[list[int]],
        table: np.ndarray,
        steps: int,
        **sampling: Any,
    ) -> dict[str, np.ndarray]:
        """One decode call; its ids are appended to `made`."""
        result = self.call(
            "decode",
            last_id=[row[-1] for row in made],
            length=[len(prompt) + len(row) - 1 for prompt, row in zip(prompts, made, strict=True)],
            block_table=table,
            stop_ids=np.full([len(made), 1], NO_ID),
            steps=steps,
            **sampling_rows(len(made), **sampling),
        )
        for row, ids in zip(made, result["ids"], strict=True):
            row += ids.tolist()
        return result


def sampling_rows(count: int, **params: Any) -> dict[str, np.ndarray]:
    """Sampling inputs of `count` rows, greedy unless said otherwise; scalars go to every row."""
    full = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0, **params}
    return {name: np.broadcast_to(value, [count]) for name, value in full.items()}


def uncached(decoder: Decoder, prompt: Sequence[int], count: int) -> list[int]:
    """Greedy ids by running the whole sequence again for every one of them."""
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(tf.argmax(decoder(tf.constant([ids], tf.int32))[0, -1])))
    return ids[len(prompt) :]
