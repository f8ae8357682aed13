"""StartPoint: the model a warm start trains on, and its checkpoint."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from components.baseline.lookup import checkpoint_fingerprint, newest_blessed
from models.checkpoint_files import CHECKPOINT_FILES, TOKENIZER_FILES, write_config
from models.contract.errors import PackageError
from models.decoder_config import DecoderConfig
from preprocessing.tokenizers.fingerprint import fingerprint
from preprocessing.tokenizers.load import read_spec

_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")


@dataclass(frozen=True, slots=True)
class StartPoint:
    """The newest blessed package, or the pretrained checkpoint when none has been pushed yet.

    Args:
        kind: what lies at `path`.
        path: version directory of a package, or a Hugging Face checkpoint directory.
        fingerprint: hash of its content.
        reason: why it is the start, and why newer versions are not.
        pretrained: checkpoint directory whose tokenizer files, chat template and end ids are valid.
        version: the package's version, 0 for a checkpoint.
        run_id: pipeline run that made it, "" for a checkpoint.
    """

    kind: Literal["package", "checkpoint"]
    path: str
    fingerprint: str
    reason: str
    pretrained: Path
    version: int = 0
    run_id: str = ""

    def write_checkpoint(self, target: Path) -> None:
        """Write it as a Hugging Face checkpoint directory.

        Of a package only the weights are taken. All else is the pretrained checkpoint's as it is now: its
        template renders the conversations to train on, and a changed end id must reach the next package.

        Args:
            target: new directory.

        Raises:
            PackageError: the package is damaged or cannot be turned into a checkpoint.
            CheckpointError: the pretrained checkpoint's config cannot be read.
            ConfigError: `target` cannot be written.
        """
        if self.kind == "checkpoint":
            _copy_checkpoint(Path(self.path), target)
            return
        # Imported here: a pipeline is compiled without loading TensorFlow's graph code.
        from models.hf_export import export_hf

        try:
            export_hf(Path(self.path), target)
        except PackageError as error:
            raise PackageError(
                f"training cannot start from the latest blessed model: {error.message}",
                field="training.start_from",
                remedy="Set `training.start_from: pretrained` for one run; its package can be started from.",
            ) from error
        self._take_settings(target)

    def _take_settings(self, target: Path) -> None:
        ours, theirs = DecoderConfig.load(target), DecoderConfig.load(self.pretrained)
        ids = {name: getattr(theirs, name) for name in ("bos_id", "eos_ids", "pad_id")}
        for name in TOKENIZER_FILES:
            (target / name).unlink(missing_ok=True)
        write_config(target, replace(ours, **ids), like=self.pretrained)


def find_start(
    push_base: Path, pretrained: Path, recorded: dict[str, str], content_hash: str | None = None
) -> StartPoint:
    """The model that a warm start trains on, by the rules of the baseline lookup.

    Args:
        push_base: `<push directory>/<model>`; may not exist yet.
        pretrained: checkpoint directory whose tokenizer the start must have.
        recorded: content hashes by version directory (`pushed_hashes`).
        content_hash: only a version with this content counts, if given.

    Raises:
        CheckpointError: `pretrained` cannot be read.
    """
    found = newest_blessed(
        push_base,
        tokenizer_fingerprint=fingerprint(read_spec(pretrained)),
        recorded=recorded,
        content_hash=content_hash,
    )
    passed_over = [
        f"Version {version} is passed over: {why.rstrip('.')}." for version, why in found.passed_over
    ]
    if found.manifest is None:
        reason = f"No blessed package in {push_base} fits, so training starts from the pretrained model."
        return StartPoint(
            "checkpoint",
            str(pretrained),
            checkpoint_fingerprint(pretrained),
            " ".join([reason, *passed_over]),
            pretrained,
        )
    reason = f"Training starts from version {found.path.name}, the newest blessed package in {push_base}."
    if found.manifest.dtype != "float32":
        reason += f" Its {found.manifest.dtype} weights are dequantised: what rounding took is lost."
    return StartPoint(
        "package",
        str(found.path),
        found.manifest.content_hash,
        " ".join([reason, *passed_over]),
        pretrained,
        int(found.path.name),
        found.manifest.run_id,
    )


def _copy_checkpoint(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    files = {source / name for name in CHECKPOINT_FILES} | {
        path for pattern in _WEIGHTS for path in source.glob(pattern)
    }
    for path in sorted(files):
        if path.is_file():
            shutil.copyfile(path, target / path.name)
