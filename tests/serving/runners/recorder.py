"""Fakes of what a compiled decode stands between."""

from __future__ import annotations

import numpy as np

from models.contract.runner_observer import RunnerObserver


class RunnerRecorder(RunnerObserver):
    """Keeps a runner's events in order."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def buckets(self, warm: int, total: int) -> None:
        self.events.append(("buckets", warm, total))

    def compiled(self, seconds: float) -> None:
        self.events.append(("compiled", seconds))

    def executor_built(self, signature: str) -> None:
        self.events.append(("executor_built", signature))

    def decode_call(self, *, compiled: bool) -> None:
        self.events.append(("decode_call", compiled))

    def of(self, name: str) -> list[tuple[object, ...]]:
        return [event[1:] for event in self.events if event[0] == name]


class PlainCalls:
    """Answers decode calls with each row's last id and keeps their names and shapes."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int]] = []
        self.fail: Exception | None = None

    def __call__(self, signature: str, **arrays: np.ndarray) -> dict[str, np.ndarray]:
        if self.fail:
            raise self.fail
        rows, columns = arrays["block_table"].shape
        self.seen.append((signature, rows, columns))
        return {"ids": arrays["last_id"][:, None], "nonce": np.int64(1)}
