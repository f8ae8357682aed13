"""Prompt lookup: tokens per second with and without guessing ahead, alternating in one process.

One request at a time: `copy` and `copies` go on with source code that the prompt holds once or twice
before (greedy), `prose` goes on with an ordinary text (greedy), `random` goes on with random ids at
temperature 1, which hardly ever repeats itself. Only the time between an answer's first and last token
counts. Both sides run the same package and must make the same ids; where two logits are nearly alike
the kernels of `decode` and `verify` may round apart, and the place is reported.

    .venv/bin/python scripts/bench_speculation.py [--package PATH] [--rounds 5] [--tokens 128] [--bulk]

Without `--package` the checkpoint of the demo is exported into a temporary folder. Progress goes to
stderr, one JSON object with all raw figures to stdout.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import random
import statistics
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

CHECKPOINT = ROOT / ".tokenmill" / "checkpoints" / "smollm2-135m-instruct"
SIDES = ("plain", "guessing")
PROSE = (
    "The mill stands at the end of the village, where the river is narrow and fast. In the morning the "
    "miller opens the sluice, and the wheel begins to turn. "
)


def main() -> int:
    options = _options()
    from serving.runners.local_runner import LocalRunner

    with tempfile.TemporaryDirectory() as folder:
        package = options.package or _export(options.checkpoint, Path(folder))
        with LocalRunner(package) as runner:
            prompts = _prompts(runner)
            _generate(runner, prompts["copies"], "guessing", 0, 32, options)
            runs = list(_rounds(runner, prompts, options))
    print(json.dumps(_result(runs, options), indent=2))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, help="version directory of a package with `verify`")
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT, help="exported if there is no package")
    parser.add_argument(
        "--kinds", default="copy,copies,prose,random", help="texts to try, with commas between them"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each side runs")
    parser.add_argument("--tokens", type=int, default=128, help="tokens of an answer")
    parser.add_argument("--bulk", action="store_true", help="nobody reads along: longer steps")
    return parser.parse_args()


def _export(checkpoint: Path, folder: Path) -> Path:
    from models.export import export_package
    from models.export_options import ExportOptions

    print(f"exporting {checkpoint.name}", file=sys.stderr)
    return export_package(checkpoint, folder / "package", ExportOptions(num_blocks=257))


def _prompts(runner: Any) -> dict[str, list[int]]:
    lines = inspect.getsource(textwrap.TextWrapper).splitlines(keepends=True)[48:90]
    source, beginning = "".join(lines), "".join(lines[:8])
    texts = {
        "copy": f"{source}\n\n{beginning}",
        "copies": f"{source}\n\n{source}\n\n{beginning}",
        "prose": PROSE,
    }
    ids = dict(zip(texts, runner.tokenize(list(texts.values())), strict=True))
    size = runner.manifest.dims.vocab_size
    ids["random"] = [random.Random(7).randrange(100, size) for _ in range(256)]
    return ids


def _rounds(
    runner: Any, prompts: dict[str, list[int]], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    for number in range(options.rounds):
        for kind in options.kinds.split(","):
            # The side that comes second finds other caches than the first: they take turns at that too.
            for side in SIDES if number % 2 else SIDES[::-1]:
                run = _generate(
                    runner, prompts[kind], side, number, options.tokens, options, kind == "random"
                )
                print(f"{number} {kind:7} {side:9} {run['tokens_per_second']:7.1f} tokens/s", file=sys.stderr)
                yield {"round": number, "kind": kind, "side": side, **run}


def _generate(
    runner: Any,
    prompt: list[int],
    side: str,
    seed: int,
    tokens: int,
    options: argparse.Namespace,
    sampled: bool = False,
) -> dict[str, Any]:
    from models.contract.metrics import MetricsObserver
    from models.contract.sampling_params import SamplingParams
    from serving.engine.engine_config import EngineConfig
    from serving.engine.llm_engine import LLMEngine

    manifest = runner.manifest
    config = EngineConfig.from_manifest(manifest, speculation=side == "guessing", prefix_caching=False)
    engine = LLMEngine(runner, config, runner.vocab, manifest.eos_ids, time.perf_counter, MetricsObserver())
    params = SamplingParams(max_tokens=tokens, temperature=float(sampled), seed=seed, ignore_eos=True)
    engine.add_request("a", prompt, params, stream=not options.bulk)
    ids: list[int] = []
    first, steps = 0.0, 0
    while engine.has_unfinished:
        for output in engine.step():
            first = first or time.perf_counter()
            ids += [token.id for token in output.tokens]
        steps += 1
    seconds = time.perf_counter() - first
    speculation = engine.scheduler.speculation
    return {
        "tokens_per_second": (tokens - 1) / seconds,
        "steps": steps,
        "drafted": speculation.num_drafted,
        "accepted": speculation.num_accepted,
        "ids": ids,
    }


def _result(runs: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    kinds = {}
    for kind in options.kinds.split(","):
        sides = {side: [r for r in runs if (r["kind"], r["side"]) == (kind, side)] for side in SIDES}
        pairs = list(zip(*sides.values(), strict=True))
        speeds = {side: [run["tokens_per_second"] for run in sides[side]] for side in SIDES}
        kinds[kind] = {
            **{f"{side}_tokens_per_second": statistics.median(speeds[side]) for side in SIDES},
            "ratio": statistics.median(b / a for a, b in zip(*speeds.values(), strict=True)),
            "first_difference": [_first_difference(a["ids"], b["ids"]) for a, b in pairs],
            "drafted": statistics.median(run["drafted"] for run in sides["guessing"]),
            "accepted": statistics.median(run["accepted"] for run in sides["guessing"]),
        }
    for run in runs:
        del run["ids"]
    return {"tokens": options.tokens, "bulk": options.bulk, "kinds": kinds, "runs": runs}


def _first_difference(a: list[int], b: list[int]) -> int | None:
    """Index of the first id that differs, None if none does."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), None)


if __name__ == "__main__":
    sys.exit(main())
