"""What quantised weights lose: packages in several forms held against the float32 checkpoint they come from.

Every form goes through the gate of a run (`gate.max_parent_ratio`) on the same windows of real text: the
standard library's modules and the Python language's reference, in English, about half each.

    .venv/bin/python scripts/compare_quantised.py --forms bfloat16:off int8:off int8:throughput

Progress goes to stderr, one JSON object to stdout.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from components.baseline.baseline import Baseline
from components.baseline.lookup import checkpoint_fingerprint
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.evaluator import Evaluator
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.held_out_document import HeldOutDocument
from components.perplexity_evaluator.sample_config import SampleConfig
from components.perplexity_evaluator.score_store import ScoreStore
from models.contract.manifest import Manifest
from models.export import export_package
from models.export_options import ExportOptions

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINT = ROOT / ".tokenmill" / "checkpoints" / "smollm2-135m-instruct"
FORMS = ["bfloat16:off", "bfloat16:latency", "int8:off", "int8:latency", "int8:throughput"]
BYTES = 200_000
"""Of each kind of text; windows are drawn from all of it."""


def main() -> int:
    options = _options()
    documents = [*_modules(), *_reference()]
    config = EvaluationConfig(
        context=512, stride=512, num_tokens=options.tokens, samples=SampleConfig(prompts=0)
    )
    with tempfile.TemporaryDirectory() as folder:
        store = ScoreStore(Path(folder) / "scores")
        found = [_measure(form, options.checkpoint, documents, config, store) for form in options.forms]
    print(json.dumps({"documents": len(documents), "forms": found}, indent=2))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT, help="Hugging Face directory")
    parser.add_argument("--forms", nargs="+", default=FORMS, help="dtype:profile of each package")
    parser.add_argument("--tokens", type=int, default=24_000, help="scored tokens at least")
    return parser.parse_args()


def _modules() -> Iterator[HeldOutDocument]:
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    random.Random(0).shuffle(files)
    size = 0
    for file in files:
        if size < BYTES:
            text = file.read_bytes()
            size += len(text)
            yield HeldOutDocument(text, "python")


def _reference() -> Iterator[HeldOutDocument]:
    names = sorted(topics)
    random.Random(0).shuffle(names)
    size = 0
    for name in names:
        if size < BYTES:
            text = topics[name].encode()
            size += len(text)
            yield HeldOutDocument(text, "english")


def _measure(
    form: str, checkpoint: Path, documents: list[HeldOutDocument], config: EvaluationConfig, store: ScoreStore
) -> dict[str, Any]:
    dtype, profile = form.split(":")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"max_length": 1024, "num_blocks": 65}
        package = export_package(
            checkpoint, Path(folder), ExportOptions(dtype=dtype, profile=profile, **sizes)
        )
        memory = Manifest.load(package).memory_bytes["weights"]
        baseline = Baseline("checkpoint", str(checkpoint), checkpoint_fingerprint(checkpoint), "The parent.")
        # What a quantised model is held against here is its parent, not a better baseline.
        gate = GateConfig(max_ratio=1.05)
        outcome = Evaluator(package, config, store, parent=checkpoint).run(documents, baseline, gate)
    results = outcome.results
    parent = results["parent"] or results
    found = {
        "dtype": dtype,
        "profile": profile,
        "weights_bytes": memory,
        "scored": results["scored"],
        "perplexity": parent["perplexity"],
        "parent_perplexity": parent["baseline_perplexity"],
        "ratio": parent["ratio"],
        "interval": parent["intervals"]["ratio"],
        "by_source": {one["slice"]: one["ratio"] for one in results["slices"] if one["by"] == "source"},
        "blessed": outcome.verdict.blessed,
        "reasons": outcome.verdict.reasons,
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(found), file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
