"""Artifacts of a run as folders, for tests of its report."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from components.baseline.baseline import Baseline
from components.corpus_example_gen.report_file import REPORT
from components.reporter.report_sources import ReportSources
from components.trainer.training_history import SUMMARY
from tests.components.packages import bare_package
from tests.components.perplexity_evaluator.example_results import example_results

TRAINING = {
    "method": "lora",
    "trainable_share": 0.0068,
    "steps": 40,
    "tokens": 40_960,
    "seconds": 125.4,
    "tokens_per_second": 326.6,
    "first_loss": 2.5,
    "final_loss": 1.5,
    "resumed_at": [20],
    "stop": {"reason": "early", "text": "Stopped early.", "best_step": 30},
    "loss_curve": [
        {
            "step": i + 1,
            "tokens": (i + 1) * 1024,
            "loss": 1.5 + math.exp(-i / 9),
            "learning_rate": 1e-4,
            "gradient_norm": 1.0,
        }
        for i in range(40)
    ],
    "validation_curve": [{"step": i, "tokens": i * 1024, "loss": 2.4 - i / 50} for i in range(0, 41, 10)],
}
CORPUS = {
    "rows": 140,
    "documents": 100,
    "splits": {"train": {"documents": 90, "bytes": 1_200_000}, "eval": {"documents": 10, "bytes": 130_000}},
    "sources": [{"source": "code", "format": "text", "files": 90, "documents": 90, "bytes": 1_200_000}],
    "left_out": {
        "duplicates": {"count": 25},
        "near_duplicates": {"count": 3, "action": "report", "threshold": 0.9},
        "leaks": {"count": 13, "action": "drop", "threshold": 0.8},
        "broken_rows": {"count": 2},
    },
    "examples": {"duplicates": [f"code/{i}.py = code/a.py" for i in range(25)]},
    "dead_letters": {"count": 2, "fraction": 0.0143, "reasons": {"not JSON": 2}},
    "spans": None,
}


def run_folders(folder: Path, gains: dict[str, float] | None = None, **changes: Any) -> ReportSources:
    """Write the artifacts of a run and say where they lie.

    Args:
        folder: for all of them.
        gains: of `example_results`.
        changes: of the ReportSources; None leaves an artifact out.
    """
    results = example_results(gains or {"code": 0.2, "notes": 0.1})
    verdict = {"blessed": results["blessed"], "reasons": results["reasons"]}
    _write(folder / "evaluation" / "results.json", results)
    _write(folder / "model_blessing" / "blessing.json", verdict)
    _write(folder / "infra_blessing" / "blessing.json", {"blessed": True, "reasons": ["It serves."]})
    _write(folder / "model_run" / SUMMARY, TRAINING)
    _write(folder / "examples" / REPORT, CORPUS)
    Baseline("checkpoint", "checkpoints/base", "f00d", "First run.").write(folder / "baseline")
    pushed = {"pushed": 1, "new": 1, "pushed_version": "7", "pushed_destination": "models/m/7", "label": ""}
    named = ("examples", "model_run", "baseline", "evaluation", "model_blessing", "infra_blessing")
    values = {
        "run_id": "20260101-000000-0000",
        "pipeline": "demo",
        "model": "m",
        "config": "name: demo\n",
        "package": bare_package(folder / "package" / "1"),
        "pushed": pushed if results["blessed"] else {"pushed": 0},
        "artifacts": {"package": ("Model", 7, "artifacts/7")},
        **{name: folder / name for name in named},
        **changes,
    }
    return ReportSources(**values)


def _write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
