"""Step time by size of KV memory and by longest context: packages in turns, same work.

    .venv/bin/python scripts/measure_arena.py SMALL LARGE [SHORT LONG] [--rounds 15] [--rows 1]

The packages are exports of one checkpoint that differ in `--blocks`, or in `--max-length`. Prints JSON:
median milliseconds of a step of each package, and the median of its ratio to the first one's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from serving.runners.local_runner import LocalRunner

STEPS = 16
LIVE = 128
"""Tokens before the measured steps; the last steps end within a bucket of 256."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", type=Path, help="version directories")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=1)
    args = parser.parse_args()
    calls = {str(package): step(package, args.rows) for package in args.packages}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(args.rounds):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name].append((time.perf_counter() - started) / STEPS)
    first = next(iter(seconds.values()))
    result = {
        name: {
            "step_ms": round(statistics.median(times) * 1e3, 2),
            "ratio": round(statistics.median(a / b for a, b in zip(times, first, strict=True)), 3),
            "seconds": times,
        }
        for name, times in seconds.items()
    }
    print(json.dumps(result, indent=2))


def step(package: Path, rows: int) -> Callable[[], object]:
    """One warm decode call of a package, compiled if it can be."""
    runner = LocalRunner(package)
    signature = "decode_xla" if "decode_xla" in runner.manifest.signatures else "decode"
    columns = 2 * LIVE // runner.manifest.block_size
    table = 1 + np.arange(rows * columns, dtype=np.int32).reshape(rows, columns) % (
        runner.manifest.num_blocks - 1
    )
    arrays = {
        "last_id": np.full(rows, 7),
        "length": np.full(rows, LIVE),
        "block_table": table,
        "temperature": np.zeros(rows),
        "top_k": np.zeros(rows),
        "top_p": np.ones(rows),
        "min_p": np.zeros(rows),
        "seed": np.zeros(rows),
        "stop_ids": np.full([rows, 1], -1),
        "steps": STEPS,
    }
    call = runner.call
    call(signature, **arrays)
    return lambda: call(signature, **arrays)


if __name__ == "__main__":
    main()
