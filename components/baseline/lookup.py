"""Finding the baseline: the newest blessed package of the push directory, else the run's first checkpoint."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from components.baseline.baseline import Baseline
from components.blessing import is_blessed
from models.checkpoint_files import CONFIG, TOKENIZER_FILES
from models.contract.errors import CheckpointError, PackageError
from models.contract.manifest import Manifest
from models.contract.package import versions
from models.contract.release_log import ReleaseLog
from models.package import verify_content

_CHUNK = 1 << 20
_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")

_OTHER_TOKENIZER = "it has another tokenizer, perplexities per token cannot be compared"

_log = logging.getLogger("tokenmill")


@dataclass(frozen=True, slots=True)
class BlessedVersion:
    """What a search through a push directory brought.

    Args:
        path: version directory, or the push directory's own if there is none.
        manifest: of that version; None if there is none.
        passed_over: newer versions, newest first, and why they do not count.
    """

    path: Path
    manifest: Manifest | None
    passed_over: tuple[tuple[int, str], ...]

    @property
    def foreign(self) -> int | None:
        """The newest of the versions that were passed over for their tokenizer alone."""
        return next((version for version, why in self.passed_over if why == _OTHER_TOKENIZER), None)


def find_baseline(
    push_base: Path,
    pretrained: Path,
    *,
    tokenizer_fingerprint: str,
    recorded: dict[str, str],
    untrained: bool = False,
) -> Baseline:
    """The model a new candidate must not be worse than.

    Versions are tried from the newest down. One counts if its manifest says that an evaluation
    blessed it, its ids mean what the candidate's mean (same tokenizer), its content hash is the
    one recorded when it was pushed, where ML Metadata has a record, its files hash to it, and it
    was not rolled back. Why newer versions were passed over is part of the answer's reason.

    Args:
        push_base: `<push directory>/<model>`; may not exist yet.
        pretrained: checkpoint directory the run starts from.
        tokenizer_fingerprint: of the candidate's tokenizer.
        recorded: content hashes by version directory (`pushed_hashes`).
        untrained: whether that checkpoint holds random weights: then the ratio says little, and it is the
            gate's absolute ceiling that decides.

    Raises:
        CheckpointError: there is no such package and no checkpoint either.
        PackageError: the push directory's labels or releases cannot be read.
    """
    found = newest_blessed(push_base, tokenizer_fingerprint=tokenizer_fingerprint, recorded=recorded)
    passed_over = [
        f"Version {version} is no baseline: {problem.rstrip('.')}." for version, problem in found.passed_over
    ]
    foreign = "" if found.foreign is None else str(push_base / str(found.foreign))
    if found.manifest is not None:
        reason = " ".join(
            [f"Version {found.path.name} is the newest blessed package in {push_base}.", *passed_over]
        )
        return Baseline(
            "package",
            str(found.path),
            found.manifest.content_hash,
            reason,
            int(found.path.name),
            found.manifest.run_id,
            foreign=foreign,
        )
    name = "untrained" if untrained else "pretrained"
    reason = " ".join(
        [f"No blessed package in {push_base} fits, so the {name} model is the baseline.", *passed_over]
    )
    return Baseline(
        "untrained" if untrained else "checkpoint",
        str(pretrained),
        checkpoint_fingerprint(pretrained),
        reason,
        foreign=foreign,
    )


def newest_blessed(
    push_base: Path,
    *,
    tokenizer_fingerprint: str,
    recorded: dict[str, str],
    content_hash: str | None = None,
) -> BlessedVersion:
    """The newest version that may be a baseline, by the rules of `find_baseline`.

    Args:
        push_base: `<push directory>/<model>`; may not exist yet.
        tokenizer_fingerprint: that a version must have.
        recorded: content hashes by version directory (`pushed_hashes`).
        content_hash: only a version with this content counts, if given.

    Raises:
        PackageError: the push directory's labels or releases cannot be read.
    """
    rolled_back = ReleaseLog.load(push_base).rolled_back
    passed_over: list[tuple[int, str]] = []
    for version in reversed(versions(push_base)):
        path = push_base / str(version)
        problem, manifest = _examine(path, tokenizer_fingerprint, recorded)
        if problem is None and version in rolled_back:
            why = rolled_back[version].reason
            problem = f"it was rolled back{f' ({why})' if why else ''}"
        if (
            manifest is not None
            and problem is None
            and manifest.content_hash != (content_hash or manifest.content_hash)
        ):
            problem = "its content is another"
        if manifest is not None and problem is None:
            return BlessedVersion(path, manifest, tuple(passed_over))
        _log.info("version %s is passed over: %s", path, problem)
        passed_over.append((version, str(problem)))
    return BlessedVersion(push_base, None, tuple(passed_over))


def _examine(
    path: Path, tokenizer_fingerprint: str, recorded: dict[str, str]
) -> tuple[str | None, Manifest | None]:
    try:
        manifest = Manifest.load(path)
    except PackageError as error:
        return str(error), None
    if not is_blessed(manifest.evaluation):
        return "no evaluation blessed it", manifest
    if manifest.tokenizer.fingerprint != tokenizer_fingerprint:
        return _OTHER_TOKENIZER, manifest
    if recorded.get(str(path.resolve()), manifest.content_hash) != manifest.content_hash:
        return "its content hash is not the one that was pushed", manifest
    try:
        verify_content(path, manifest)
    except PackageError as error:
        return str(error), manifest
    return None, manifest


def checkpoint_fingerprint(directory: Path) -> str:
    """Sha256 over everything of a checkpoint that is trained on, exported or served, with the files' names.

    Raises:
        CheckpointError: the directory holds no weights.
    """
    weights = {path for pattern in _WEIGHTS for path in directory.glob(pattern)}
    if not any(path.suffix == ".safetensors" for path in weights):
        raise CheckpointError(
            f"checkpoint {directory} holds no .safetensors file.",
            field=str(directory),
            remedy="Make one with `tokenmill import gguf` or `tokenmill import hf`.",
        )
    return _digest(weights | _settings(directory))


def settings_fingerprint(directory: Path) -> str:
    """Sha256 over what a checkpoint holds besides its weights: sizes, tokenizer, template, end ids."""
    return _digest(_settings(directory))


def _settings(directory: Path) -> set[Path]:
    return {path for name in (CONFIG, *TOKENIZER_FILES) if (path := directory / name).is_file()}


def _digest(files: set[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        # Sizes too: what one file ends with is no beginning of the next.
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()
