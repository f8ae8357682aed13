"""LoRA beside full fine-tuning: how much of the held-out gain adapters reach at equal tokens.

Trains one checkpoint on the standard library's modules, once with all weights and once per learning
rate with adapters, from the same start, on the same rows, and measures the perplexity of held-out
modules before and after. `gain_share` is LoRA's fall of perplexity over full fine-tuning's.

    .venv/bin/python scripts/compare_lora.py --tokens 40960 --learning-rates 1e-3 2e-3

Progress goes to stderr, one JSON object to stdout.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import random
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from components.trainer.run_fn import attach_adapters, train
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData, document_end
from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from models.scoring import CheckpointScorer
from preprocessing.tokenizers import load_tokenizer

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINT = ROOT / ".tokenmill" / "checkpoints" / "smollm2-135m-instruct"
LEFT_OUT = {
    "test",
    "tests",
    "encodings",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "site-packages",
    "dist-packages",
}
WINDOW = 512
HELD_OUT = 0.1


def main() -> int:
    options = _options()
    train_ids, held_out, end = _documents(options)
    windows = _windows(held_out, options.held_out_tokens)
    data = TrainingData(train_ids, end)
    before = _perplexity(load_checkpoint(options.checkpoint), windows)
    print(f"pretrained: {before:.4f}", file=sys.stderr, flush=True)
    runs = [_train({"method": "full"}, options, data, windows)]
    for rate in options.learning_rates:
        adapters = {"rank": options.rank, "alpha": options.alpha, "targets": options.targets}
        settings = {"method": "lora", "lora": adapters, "learning_rate": rate}
        runs.append(_train(settings, options, data, windows))
    gain = before - runs[0]["perplexity"]
    for run in runs:
        run["gain_share"] = round((before - run["perplexity"]) / gain, 4)
    result = {
        "tokens": options.tokens,
        "held_out_tokens": int(sum(len(window) - 1 for window in windows)),
        "train_tokens_available": data.tokens,
        "pretrained_perplexity": round(before, 5),
        "runs": runs,
    }
    print(json.dumps(result, indent=2))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT, help="Hugging Face directory")
    parser.add_argument("--tokens", type=int, default=40_960, help="training tokens of each run")
    parser.add_argument("--held-out-tokens", type=int, default=20_480)
    parser.add_argument("--learning-rates", type=float, nargs="+", default=[1e-3], help="of LoRA")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=16)
    parser.add_argument("--targets", nargs="+", default="all-linear", help="projections; default: all")
    return parser.parse_args()


def _documents(options: argparse.Namespace) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Ids of the modules, top-level packages whole on one side, and the id after each."""
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    groups: dict[str, list[Path]] = {}
    for file in sorted(stdlib.rglob("*.py")):
        parts = file.relative_to(stdlib).parts
        if not LEFT_OUT & set(parts):
            groups.setdefault(parts[0], []).append(file)
    names = sorted(groups)
    random.Random(0).shuffle(names)
    cut = int(len(names) * HELD_OUT)
    tokenizer = load_tokenizer(options.checkpoint)

    def ids(chosen: list[str]) -> list[np.ndarray]:
        texts = [file.read_text("utf-8", "replace") for name in chosen for file in groups[name]]
        return [np.array(row, np.int32) for row in tokenizer.encode_batch(texts)]

    return ids(names[cut:]), ids(names[:cut]), document_end(tokenizer.special_ids, tokenizer.eos_ids, None)


def _windows(documents: Sequence[np.ndarray], tokens: int) -> list[np.ndarray]:
    """Windows of the documents, one after the other of each, spread over all of them."""
    cut = [document[at : at + WINDOW] for document in documents for at in range(0, len(document) - 1, WINDOW)]
    cut = [window for window in cut if len(window) > 1]
    random.Random(0).shuffle(cut)
    sums = np.cumsum([len(window) - 1 for window in cut])
    return cut[: int(np.searchsorted(sums, tokens)) + 1]


def _perplexity(decoder: Decoder, windows: Sequence[np.ndarray], batch: int = 4) -> float:
    scorer = CheckpointScorer(decoder)
    nll, count = 0.0, 0
    for at in range(0, len(windows), batch):
        rows = windows[at : at + batch]
        ids = np.stack([np.pad(row, (0, WINDOW - len(row))) for row in rows])
        sums, scored = scorer.score(ids, np.array([len(row) for row in rows]), np.zeros(len(rows)))
        nll += float(sums.astype(np.float64).sum())
        count += int(scored.sum())
    return math.exp(nll / count)


def _train(
    settings: dict[str, Any], options: argparse.Namespace, data: TrainingData, windows: Sequence[np.ndarray]
) -> dict[str, Any]:
    config = TrainingConfig.model_validate({**settings, "tokens": options.tokens})
    decoder = load_checkpoint(options.checkpoint)
    adapters = attach_adapters(decoder, config)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        history = train(decoder, data, config, Path(folder), adapters=adapters)
    found = {
        "method": config.method,
        "learning_rate": config.learning_rate,
        "trainable_share": round(adapters.trainable_share, 5) if adapters else 1.0,
        "targets": adapters.target_names if adapters else None,
        "rank": adapters.rank if adapters else None,
        "final_loss": round(history.final_loss, 5),
        "seconds": round(time.monotonic() - started, 1),
    }
    if adapters:
        adapters.merge()
    found["perplexity"] = round(_perplexity(decoder, windows), 5)
    print(json.dumps(found), file=sys.stderr, flush=True)
    del decoder, adapters
    keras.backend.clear_session()
    gc.collect()
    return found


if __name__ == "__main__":
    sys.exit(main())
