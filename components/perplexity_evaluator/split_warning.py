"""A warning where the baseline was trained on another split than the one it is now scored on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.baseline.baseline import Baseline
from models.contract.manifest import Manifest


def split_warning(baseline: Baseline, split: dict[str, Any]) -> tuple[str, ...]:
    """One sentence for the verdict if the split settings differ from the baseline's, else none.

    Args:
        baseline: what the candidate is compared with; a package's manifest records its split.
        split: the settings that decide this run's held-out documents.

    Raises:
        PackageError: the baseline's manifest cannot be read.
    """
    if baseline.kind != "package":
        return ()
    evaluation = Manifest.load(Path(baseline.path)).evaluation
    theirs = evaluation.get("split") if isinstance(evaluation, dict) else None
    if not isinstance(theirs, dict) or not theirs:
        return ()
    changed = [key for key in split if theirs.get(key) != split[key]]
    if not changed:
        return ()
    words = ", ".join(f"corpus.{key} {theirs.get(key)} → {split[key]}" for key in changed)
    return (
        f"Warning: the held-out split changed since the {baseline.label} was trained ({words}): it may have "
        "been trained on text that is held out now, so the comparison may favour it.",
    )
