"""Baseline: the model a candidate is compared with."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

BASELINE_FILE = "baseline.json"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A pushed package, or the checkpoint a run started from when nothing blessed has been pushed yet.

    Args:
        kind: what lies at `path`: a package, a pretrained checkpoint, or one of random weights.
        path: version directory of a package, or a Hugging Face checkpoint directory.
        fingerprint: hash of its content.
        reason: why it is the baseline, and why newer versions are not.
        version: the package's version, None for a checkpoint.
        run_id: pipeline run that made it, "" for a checkpoint.
        stable: the model's stable version, which may be another than the baseline; None if there is none.
        foreign: version directory of the newest blessed package with another tokenizer, if that is newer than
            the baseline; "" if there is none.
    """

    kind: Literal["package", "checkpoint", "untrained"]
    path: str
    fingerprint: str
    reason: str
    version: int | None = None
    run_id: str = ""
    stable: int | None = None
    foreign: str = ""

    @property
    def label(self) -> str:
        """Short name for tables and messages."""
        if self.kind == "package":
            return f"pushed version {self.version}"
        return "untrained model" if self.kind == "untrained" else "pretrained model"

    def write(self, folder: Path) -> None:
        """Store it in an artifact's folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / BASELINE_FILE).write_text(json.dumps(dataclasses.asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Load what `write` stored."""
        return cls(**json.loads((folder / BASELINE_FILE).read_text(encoding="utf-8")))
