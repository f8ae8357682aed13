"""ReleaseStatus: versions, labels and history of one model's push directory, for tables and for JSON."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from components.blessing import is_blessed
from models.contract.errors import PackageError
from models.contract.labels import Labels
from models.contract.manifest import Manifest
from models.contract.package import versions
from models.contract.release_log import ReleaseLog


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """One pushed version.

    Args:
        version: its number.
        label: "stable", "canary" or "".
        traffic: share of the traffic it is meant to get, 0 to 1.
        blessed: whether an evaluation blessed it.
        perplexity: of that evaluation, None if there was none.
        run_id: pipeline run that made it, "" for a manual export.
        content_hash: of its files, as its manifest says.
        problem: why its manifest cannot be read, or that a labelled version is missing; else "".
    """

    version: int
    label: str = ""
    traffic: float = 0.0
    blessed: bool = False
    perplexity: float | None = None
    run_id: str = ""
    content_hash: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseStatus:
    """One model's releases.

    Args:
        model: its name.
        directory: `<push directory>/<model>`.
        labels: as they are now; without a stable version servers take the newest one.
        versions: newest first; versions that a label stands on but that are gone included.
        log: the history.
    """

    model: str
    directory: Path
    labels: Labels
    versions: tuple[VersionStatus, ...]
    log: ReleaseLog

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Read without a lock; nothing is written.

        Raises:
            PackageError: `labels.json` or `releases.jsonl` cannot be read.
        """
        labels = Labels.load(directory) or Labels()
        numbers = {*versions(directory), *labels.targets.values()}
        found = tuple(_version(directory, number, labels) for number in sorted(numbers, reverse=True))
        return cls(directory.name, directory, labels, found, ReleaseLog.load(directory))

    def to_json(self) -> dict[str, Any]:
        """The status as plain values; the history's versions are called `from` and `to`."""
        return {
            "model": self.model,
            "directory": str(self.directory),
            "labels": self.labels.targets,
            "canary_weight": self.labels.canary_weight,
            "rollback_targets": list(self.labels.previous),
            "versions": [dataclasses.asdict(version) for version in self.versions],
            "releases": [record.to_dict() for record in self.log.records],
            "broken_lines": list(self.log.broken),
        }


def _version(directory: Path, number: int, labels: Labels) -> VersionStatus:
    label = next((name for name, version in labels.targets.items() if version == number), "")
    traffic = labels.traffic.get(number, 0.0)
    try:
        manifest = Manifest.load(directory / str(number))
    except PackageError as error:
        missing = not (directory / str(number)).exists()
        return VersionStatus(number, label, traffic, problem="missing" if missing else error.message)
    return VersionStatus(
        number,
        label,
        traffic,
        blessed=is_blessed(manifest.evaluation),
        perplexity=_perplexity(manifest),
        run_id=manifest.run_id,
        content_hash=manifest.content_hash,
    )


def _perplexity(manifest: Manifest) -> float | None:
    value = manifest.evaluation.get("perplexity") if isinstance(manifest.evaluation, dict) else None
    return float(value) if isinstance(value, int | float) else None
