"""Peak memory of a package's process, as the difference to the same process with a tiny model.

Each package is loaded in a process of its own, which makes the calls that an engine makes: a prompt and
decode steps for one row, the same by four clients at once, for many rows, and, where the package has
buckets, all of them compiled. What TensorFlow itself takes is in both, so that the difference is the
weights and the KV blocks, if nothing is held twice.

    .venv/bin/python scripts/measure_memory.py PACKAGE [PACKAGE ...]

JSON goes to stdout: bytes at each stage, and the peaks' difference over what the manifest says of weights
and KV blocks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from serving.runners.local_runner import LocalRunner

ROOT = Path(__file__).resolve().parent.parent
PROMPT = 64
STEPS = 16
CLIENTS = 4
ROWS = (8, 16)


def main() -> int:
    options = _options()
    if options.child:
        print(json.dumps(list(_stages(options.packages[0]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        tiny = {}
        results = []
        for package in options.packages:
            manifest = json.loads((package / "assets.extra/tokenmill.json").read_text())
            profile = manifest.get("profile", "off")
            if profile not in tiny:
                tiny[profile] = _measure(_tiny_package(Path(folder), profile))
            results.append(_compare(package, manifest, _measure(package), tiny[profile]))
    print(json.dumps(results, indent=2))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", type=Path, help="version directories")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(package: Path) -> list[dict[str, Any]]:
    """Stages of a process that has nothing else in it."""
    command = [sys.executable, __file__, "--child", str(package)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    print(f"measuring {package}", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def _compare(
    package: Path, manifest: dict[str, Any], own: list[dict[str, Any]], tiny: list[dict[str, Any]]
) -> dict[str, Any]:
    wanted = manifest["memory_bytes"]["weights"] + manifest["memory_bytes"]["kv"]
    peaks = {stage["stage"]: stage["peak"] for stage in tiny}
    above = {stage["stage"]: stage["peak"] - peaks[stage["stage"]] for stage in own[1:]}
    return {
        "package": str(package),
        "model": manifest["model"],
        "dtype": manifest["dtype"],
        "profile": manifest.get("profile", "off"),
        "weights_and_kv_bytes": wanted,
        "peak_difference_bytes": above,
        "ratios": {stage: round(difference / wanted, 3) for stage, difference in above.items()},
        "stages": own,
        "tiny": tiny,
    }


def _tiny_package(folder: Path, profile: str) -> Path:
    script = """
import sys
from pathlib import Path
from models.export import export_package
from models.export_options import ExportOptions
from tests.tiny import write_tiny_checkpoint

folder, profile = Path(sys.argv[1]), sys.argv[2]
checkpoint = write_tiny_checkpoint(folder / "checkpoint")
print(export_package(checkpoint, folder / profile, ExportOptions(num_blocks=257, profile=profile)))
"""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, str(folder), profile]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return Path(done.stdout.strip().splitlines()[-1])


def _stages(package: Path) -> Iterator[dict[str, Any]]:
    """Memory after each kind of call; KV blocks are touched as far as the calls need them."""
    from serving.runners.local_runner import LocalRunner

    yield _memory("TensorFlow imported")
    with LocalRunner(package) as runner:
        yield _memory("loaded")
        _prompt_and_steps(runner, 1, 0)
        yield _memory("1 client")
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda client: _prompt_and_steps(runner, 1, client), range(CLIENTS)))
        yield _memory(f"{CLIENTS} clients at once")
        for rows in ROWS:
            if rows * _columns(runner) < runner.manifest.num_blocks:
                _prompt_and_steps(runner, rows, 0)
                yield _memory(f"{rows} rows")
        runner.warmup.run()
        yield _memory("buckets compiled")


def _prompt_and_steps(runner: LocalRunner, rows: int, client: int) -> None:
    """On blocks that no other client has."""
    shape = (rows, _columns(runner))
    table = (
        1 + client * np.prod(shape, dtype=np.int32) + np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    )
    runner.call("prefill", **_prompt(rows), block_table=table, **_greedy(rows))
    runner.call("decode", **_last(rows), block_table=table, **_greedy(rows), **_stop(rows))


def _columns(runner: LocalRunner) -> int:
    """Blocks of a row."""
    return -(-(PROMPT + STEPS) // runner.manifest.block_size)


def _memory(stage: str) -> dict[str, Any]:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resident, peak = (int(status[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))
    return {"stage": stage, "resident": resident, "peak": peak}


def _prompt(rows: int) -> dict[str, np.ndarray]:
    ids = np.tile(np.arange(PROMPT, dtype=np.int32), (rows, 1))
    return {"ids": ids, "lengths": np.full(rows, PROMPT, np.int32), "start": np.zeros(rows, np.int32)}


def _last(rows: int) -> dict[str, np.ndarray]:
    return {
        "last_id": np.ones(rows, np.int32),
        "length": np.full(rows, PROMPT, np.int32),
        "steps": np.array(STEPS, np.int32),
    }


def _stop(rows: int) -> dict[str, np.ndarray]:
    return {"stop_ids": np.full((rows, 1), -1, np.int32)}


def _greedy(rows: int) -> dict[str, np.ndarray]:
    return {
        "temperature": np.zeros(rows, np.float32),
        "top_k": np.zeros(rows, np.int32),
        "top_p": np.ones(rows, np.float32),
        "min_p": np.zeros(rows, np.float32),
        "seed": np.zeros(rows, np.int64),
    }


if __name__ == "__main__":
    sys.exit(main())
