"""A warning where a newer blessed version was left out of the comparison for its vocabulary."""

from __future__ import annotations

from pathlib import Path

from components.baseline.baseline import Baseline
from models.contract.errors import PackageError
from models.contract.manifest import Manifest


def vocabulary_warning(baseline: Baseline, bits_per_byte: float) -> tuple[str, ...]:
    """One sentence for the verdict if there is such a version, else none.

    Perplexities per token of different vocabularies say nothing about each other; bits per byte do, if they
    were measured on the same text, which is not known here.

    Args:
        baseline: what the candidate is compared with, and what was passed over.
        bits_per_byte: of the candidate.
    """
    if not baseline.foreign:
        return ()
    version = Path(baseline.foreign)
    theirs = _bits_per_byte(version)
    known = "" if theirs is None else f"; version {version.name} had {theirs:.3f} on what was held out then"
    return (
        f"Warning: version {version.name} was blessed with another vocabulary, so the gate did not compare "
        f"with it. This model needs {bits_per_byte:.3f} bits per byte{known}.",
    )


def _bits_per_byte(version: Path) -> float | None:
    try:
        evaluation = Manifest.load(version).evaluation
    except PackageError:
        return None
    found = evaluation.get("bits_per_byte") if isinstance(evaluation, dict) else None
    return float(found) if isinstance(found, int | float) else None
