"""llama.cpp through the C interface of llama-cpp-python, on a GGUF file of the checkpoint."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np

from serving.benchmarks.engines.gguf_writer import write_gguf
from serving.benchmarks.engines.timed_answers import TimedAnswers

_FLOAT32 = 0
"""GGML_TYPE_F32."""

_CELLS = 256
"""Contexts are a multiple of so many positions."""


class LlamaCppEngine:
    """Greedy loop over `llama_decode`, all rows of a batch in one call.

    Keys and values are float32, as those of the others.

    Args:
        job: "checkpoint", "cache" (directory for the GGUF file) and "threads".
    """

    def __init__(self, job: dict[str, Any]) -> None:
        file = Path(job["cache"]) / "model-f32.gguf"
        if not file.is_file():
            write_gguf(Path(job["checkpoint"]), file)
        self._threads = job["threads"]
        self._silence = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self._silence, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(
            str(file).encode(), llama_cpp.llama_model_default_params()
        )
        if not self._model:
            raise RuntimeError(f"llama.cpp does not load {file.name}")
        self._vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))
        self._shape: tuple[int, int] | None = None
        self._context: Any = None

    def describe(self) -> dict[str, Any]:
        """Version and the instruction sets it was built for."""
        return {
            "version": f"llama-cpp-python {llama_cpp.__version__}",
            "built_for": llama_cpp.llama_print_system_info().decode(),
        }

    def run(self, prompts: list[list[int]], tokens: int) -> TimedAnswers:
        """See `TimedAnswers`."""
        rows, length = len(prompts), len(prompts[0])
        self._prepare(rows, length + tokens)
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)
        started = time.perf_counter()
        made = [self._decode([(row, list(enumerate(ids))) for row, ids in enumerate(prompts)])]
        first = time.perf_counter()
        for position in range(length, length + tokens - 1):
            made.append(self._decode([(row, [(position, int(last))]) for row, last in enumerate(made[-1])]))
        ended = time.perf_counter()
        return TimedAnswers(first - started, ended - first, np.stack(made, axis=1).tolist())

    def _prepare(self, rows: int, positions: int) -> None:
        """A context of that size; the last one's if it is the same."""
        if self._shape == (rows, positions):
            return
        if self._context is not None:
            llama_cpp.llama_free(self._context)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = rows * -(-positions // _CELLS) * _CELLS
        params.n_seq_max = rows
        params.n_batch = max(params.n_batch, rows * positions)
        params.n_threads = params.n_threads_batch = self._threads
        params.type_k = params.type_v = _FLOAT32
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        if not self._context:
            raise RuntimeError(f"llama.cpp makes no context of {rows} × {positions} positions")
        self._shape = rows, positions

    def _decode(self, rows: list[tuple[int, list[tuple[int, int]]]]) -> np.ndarray:
        """Run (row, [(position, id)]); the id with the best logit behind each row's last one."""
        count = sum(len(ids) for _, ids in rows)
        batch = llama_cpp.llama_batch_init(count, 0, 1)
        place = 0
        for row, ids in rows:
            for number, (position, token) in enumerate(ids, 1):
                batch.token[place], batch.pos[place] = token, position
                batch.n_seq_id[place], batch.seq_id[place][0] = 1, row
                batch.logits[place] = number == len(ids)
                place += 1
        batch.n_tokens = count
        status = llama_cpp.llama_decode(self._context, batch)
        llama_cpp.llama_batch_free(batch)
        if status:
            raise RuntimeError(f"llama_decode answered {status}")
        logits = llama_cpp.llama_get_logits(self._context)
        return np.ctypeslib.as_array(logits, shape=(len(rows), self._vocab_size)).argmax(axis=1)


def load(job: dict[str, Any]) -> LlamaCppEngine:
    """The engine of a job."""
    return LlamaCppEngine(job)
