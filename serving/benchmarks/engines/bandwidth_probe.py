"""Read bandwidth of this machine's memory with all its cores: the limit of a decode step."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

_BYTES = 512 * 2**20
"""Larger than any cache."""

_PASSES = 5


class BandwidthProbe:
    """Dot products of buffers with themselves, a thread per core: each byte is read once.

    Args:
        job: "threads".
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self._parts = np.ones((job["threads"], _BYTES // 4 // job["threads"]), np.float32)
        self._pool = ThreadPoolExecutor(job["threads"])

    def describe(self) -> dict[str, Any]:
        """What reads."""
        return {"version": f"NumPy {np.__version__}"}

    def measure(self) -> float:
        """Bytes per second, the median of five passes."""
        return statistics.median(self._pass() for _ in range(_PASSES))

    def _pass(self) -> float:
        started = time.perf_counter()
        list(self._pool.map(lambda part: np.dot(part, part), self._parts))
        return self._parts.nbytes / (time.perf_counter() - started)


def load(job: dict[str, Any]) -> BandwidthProbe:
    """The probe of a job."""
    return BandwidthProbe(job)
