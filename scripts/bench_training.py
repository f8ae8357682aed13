"""Training speed: this Trainer beside transformers' PyTorch Trainer, alternating on one machine.

Both train the same checkpoint on the same packed rows, in float32, with AdamW, clipping, warm-up and
cosine, the same batch and the same number of threads. The sides take turns in processes of their own;
a step's time is what lies between the ends of two steps, the first steps of each process left out.
The processor's time per step is told too: it says more where something else runs beside.

    .venv/bin/python scripts/bench_training.py [--torch-python PATH] [--method lora] [--rounds 3]

PATH is a Python with torch, transformers, accelerate (and peft for `--method lora`); without it this
one is taken (the extra `parity`). Progress goes to
stderr, one JSON object with all raw figures to stdout.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINT = ROOT / ".tokenmill" / "checkpoints" / "smollm2-135m-instruct"
SIDES = {"tokenmill": "bench_training_tokenmill.py", "torch": "bench_training_torch.py"}
UNCOUNTED = 2
"""First steps of a process that are left out: they trace, allocate and warm caches."""


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        job = _write_job(Path(folder), options)
        runs = [
            {"round": number, "side": side, **_run(side, job, options)}
            for number in range(options.rounds)
            for side in SIDES
        ]
    print(json.dumps(_result(runs, options), indent=2))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--torch-python",
        type=Path,
        default=Path(sys.executable),
        help="Python with torch and transformers; by default this one, with the extra `parity`",
    )
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT, help="Hugging Face directory")
    parser.add_argument("--method", choices=["full", "lora"], default="full")
    parser.add_argument("--no-determinism", action="store_true", help="`training.deterministic: false`")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side runs")
    parser.add_argument(
        "--steps", type=int, default=8, help=f"steps per run, the first {UNCOUNTED} uncounted"
    )
    parser.add_argument("--sequence-length", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if options.steps <= UNCOUNTED + 1:
        parser.error(f"--steps must be more than {UNCOUNTED + 1}")
    return options


def _write_job(folder: Path, options: argparse.Namespace) -> Path:
    """What both sides read: settings, and the rows' documents and packed form."""
    job = {
        "checkpoint": str(options.checkpoint.absolute()),
        "corpus": sysconfig.get_paths()["stdlib"],
        "training": {
            "method": options.method,
            "deterministic": not options.no_determinism,
            "tokens": options.steps * options.batch_size * options.sequence_length,
            "sequence_length": options.sequence_length,
            "batch_size": options.batch_size,
        },
        "threads": options.threads,
        "rows": str(folder / "rows.npz"),
    }
    path = folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    _call(sys.executable, "tokenmill", path, options.threads, "--pack")
    return path


def _run(side: str, job: Path, options: argparse.Namespace) -> dict[str, Any]:
    python = sys.executable if side == "tokenmill" else str(options.torch_python)
    load = os.getloadavg()[0]
    found: dict[str, Any] = json.loads(_call(python, side, job, options.threads))
    tokens = options.batch_size * options.sequence_length
    for clock in ("step", "cpu"):
        middle = statistics.median(found[f"{clock}_seconds"][UNCOUNTED:])
        found[f"tokens_per_{'cpu_' if clock == 'cpu' else ''}second"] = round(tokens / middle, 2)
    found["load_before"] = round(load, 2)
    print(f"{side}: {found['tokens_per_second']} tokens/s, peak {found['peak_mb']} MB", file=sys.stderr)
    return found


def _call(python: str, side: str, job: Path, threads: int, *more: str) -> str:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PYTHONPATH": str(ROOT) if side == "tokenmill" else "",
    }
    script = str(ROOT / "scripts" / SIDES[side])
    done = subprocess.run(
        [python, script, str(job), *more], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{side} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout.strip().rpartition("\n")[2]


def _result(runs: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for unit in ("tokens_per_second", "tokens_per_cpu_second"):
        speeds = {side: [run[unit] for run in runs if run["side"] == side] for side in SIDES}
        medians = {side: statistics.median(values) for side, values in speeds.items()}
        pairs = [ours / theirs for ours, theirs in zip(speeds["tokenmill"], speeds["torch"], strict=True)]
        result[unit] = {
            "medians": medians,
            "ratio": round(medians["tokenmill"] / medians["torch"], 3),
            "ratio_by_round": [round(pair, 3) for pair in pairs],
        }
    return {
        "method": options.method,
        "deterministic": not options.no_determinism,
        "batch_size": options.batch_size,
        "sequence_length": options.sequence_length,
        "threads": options.threads,
        "machine": {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()},
        **result,
        "runs": runs,
    }


if __name__ == "__main__":
    sys.exit(main())
