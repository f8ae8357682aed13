"""A folder with a tiny checkpoint and corpus to run the whole mill in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.main import cli
from components.pusher.release_directory import LOCK_FILE
from models.contract.labels import LABELS_FILE
from models.contract.release_log import RELEASES_FILE
from tests.tiny import write_tiny_checkpoint

MODULES = 14
FUNCTION = "def function_{i}_{j}(a, b):\n    return a + b * {j}\n\n"
SETTINGS: dict[str, Any] = {
    "name": "tiny",
    "model": {"name": "tiny", "checkpoint": "checkpoint"},
    "corpus": {"sources": [{"name": "code", "path": "corpus"}], "eval_fraction": 0.25},
    "training": {"tokens": 15_000, "sequence_length": 128, "batch_size": 4, "learning_rate": 5e-3},
    "export": {"max_length": 96, "kv_tokens": 384, "block_size": 8},
    "evaluation": {"context": 64, "stride": 64, "num_tokens": 1500, "batch_size": 16},
    "gate": {"max_fraction": 0.5},
    "validation": {"max_tokens": 9},
    "completion": {"max_tokens": 8},
}
"""Of a run that trains well."""


@dataclass(frozen=True)
class Mill:
    """A folder to run in.

    Args:
        folder: current directory of the runs.
        settings: of a run that trains well.
    """

    folder: Path
    settings: dict[str, Any]

    @property
    def push_base(self) -> Path:
        """The model's push directory."""
        return self.folder / ".tokenmill" / "models" / "tiny"

    def write(self, name: str, **changes: Any) -> Path:
        """A config file with some sections changed."""
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**self.settings, **changes}))
        return path

    def versions(self) -> list[str]:
        """Entries of the model's push directory, hidden ones too, but for those that always are there."""
        return sorted(set(os.listdir(self.push_base)) - {LOCK_FILE, LABELS_FILE, RELEASES_FILE})


def make_mill(folder: Path) -> Mill:
    """Write checkpoint and corpus."""
    write_tiny_checkpoint(folder / "checkpoint")
    (folder / "corpus").mkdir()
    for i in range(MODULES):
        text = "".join(FUNCTION.format(i=i, j=j) for j in range(20))
        (folder / "corpus" / f"module{i}.py").write_text(f'"""Module {i}."""\n\n{text}')
    return Mill(folder, SETTINGS)


@contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """Make it the current directory for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def tokenmill(*arguments: str) -> None:
    """Call the command line within this process."""
    cli(list(arguments), standalone_mode=False)


def tokenmill_json(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command prints with `--json`."""
    capfd.readouterr()
    tokenmill(*arguments, "--json")
    return json.loads(capfd.readouterr().out)
