"""Labels: which version of a model is stable and which one is its canary; the file `labels.json`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from models.contract.errors import ConfigError, ModelNotFoundError, PackageError
from models.contract.release_record import CANARY, LABELS, STABLE, ReleaseRecord

SCHEMA_VERSION = 1
LABELS_FILE = "labels.json"
MOST_PREVIOUS = 32
"""Earlier stable versions remembered; a rollback reaches no further back."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one model, after all changes so far.

    The file is replaced as a whole, and that one rename is what makes a change happen. It carries the
    change's record, so that a history whose writer was killed before its line can be completed.

    Args:
        stable: version all traffic goes to that no canary takes; None before the first blessed push.
        canary: version on trial, or None.
        canary_weight: share of the traffic the canary takes, 0 without one.
        previous: earlier stable versions, the latest last; the targets of rollbacks.
        last: record of the latest change, None before the first.
    """

    stable: int | None = None
    canary: int | None = None
    canary_weight: float = 0.0
    previous: tuple[int, ...] = ()
    last: ReleaseRecord | None = None

    @property
    def targets(self) -> dict[str, int]:
        """Label → version, for the labels that are set."""
        pairs = ((STABLE, self.stable), (CANARY, self.canary))
        return {label: version for label, version in pairs if version is not None}

    @property
    def traffic(self) -> dict[int, float]:
        """Version → share of the traffic; the shares sum to 1, empty without a stable version."""
        if self.stable is None:
            return {}
        if self.canary is None:
            return {self.stable: 1.0}
        return {self.stable: 1.0 - self.canary_weight, self.canary: self.canary_weight}

    def resolve(self, label: str) -> int:
        """The version a label stands on.

        Raises:
            ModelNotFoundError: there is no such label now.
        """
        if label not in self.targets:
            known = ", ".join(self.targets) or "none"
            raise ModelNotFoundError(f"label {label!r} is not set; set are: {known}.", field=label)
        return self.targets[label]

    def after(self, record: ReleaseRecord) -> Labels:
        """The labels after one more change; all changes are made here, from records alone.

        Raises:
            ConfigError: the change makes no sense in this state, e.g. a canary that is the stable version.
        """
        change = getattr(self, f"_{record.action}")
        changed: Labels = change(record)
        return dataclasses.replace(changed, last=record)

    @classmethod
    def replay(cls, records: Iterable[ReleaseRecord]) -> Labels:
        """The labels after a whole history."""
        labels = Labels()
        for record in records:
            labels = labels.after(record)
        return labels

    def to_json(self) -> str:
        """The file's text."""
        value = {
            "schema_version": SCHEMA_VERSION,
            "labels": self.targets,
            "canary_weight": self.canary_weight,
            "previous": list(self.previous),
            "last_release": self.last.to_dict() if self.last else None,
        }
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, source: str = LABELS_FILE) -> Self:
        """Parse and check the file's text.

        Raises:
            PackageError: it is not what `to_json` writes; the message names the field.
        """
        try:
            raw = json.loads(text)
        except ValueError as error:
            raise _unreadable(source, f"not JSON: {error}") from error
        if not isinstance(raw, dict) or raw.get("schema_version") != SCHEMA_VERSION:
            version = raw.get("schema_version") if isinstance(raw, dict) else None
            raise _unreadable(source, f"`schema_version` is {version!r}, this version reads {SCHEMA_VERSION}")
        targets, previous = raw.get("labels"), raw.get("previous", [])
        if not isinstance(targets, dict) or not set(targets) <= set(LABELS):
            raise _unreadable(source, f"`labels` is {targets!r}")
        if not isinstance(previous, list) or not all(map(_is_version, [*targets.values(), *previous])):
            raise _unreadable(source, "`labels` or `previous` holds what is no version")
        weight, last = raw.get("canary_weight", 0.0), raw.get("last_release")
        canary = targets.get(CANARY)
        if not _is_weight(weight, canary):
            raise _unreadable(source, f"`canary_weight` is {weight!r} with canary {canary!r}")
        record = None if last is None else ReleaseRecord.from_dict(last, source=f"{source}: last_release")
        return cls(targets.get(STABLE), canary, float(weight), tuple(previous), record)

    @classmethod
    def load(cls, base: Path) -> Self | None:
        """The labels of a model's push directory; None if it has no label file.

        Versions pushed before labels were kept have none: then the newest version is served.

        Args:
            base: `<push directory>/<model>`.

        Raises:
            PackageError: the file cannot be read.
        """
        path = base / LABELS_FILE
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(str(path), str(getattr(error, "strerror", None) or error)) from error
        return cls.from_json(text, source=str(path))

    def _push(self, record: ReleaseRecord) -> Labels:
        if record.label != STABLE:
            return self
        if self.stable is not None:
            raise _refused(record, f"the stable version is {self.stable}", "Promote the new version.")
        return dataclasses.replace(self, stable=_target(record))

    _adopt = _push

    def _canary(self, record: ReleaseRecord) -> Labels:
        version = _target(record)
        if self.stable is None:
            raise _refused(record, "there is no stable version to try it against", "Promote it instead.")
        if version == self.stable:
            raise _refused(record, "it is the stable version", "Name another version.")
        if not _is_weight(record.weight, version):
            raise ConfigError(
                f"canary weight is {record.weight}, must be between 0 and 1.",
                field="weight",
                remedy="Give e.g. 0.1; `tokenmill promote` gives a version all traffic.",
            )
        return dataclasses.replace(self, canary=version, canary_weight=float(record.weight or 0.0))

    def _promote(self, record: ReleaseRecord) -> Labels:
        version = _target(record)
        if version == self.stable:
            raise _refused(record, "it is the stable version already", "Name another version.")
        if self.canary not in (None, version):
            remedy = "End it with `tokenmill rollback`, or promote it."
            raise _refused(record, f"version {self.canary} is on trial as a canary", remedy)
        previous = self.previous if self.stable is None else (*self.previous, self.stable)
        return Labels(stable=version, previous=previous[-MOST_PREVIOUS:])

    def _rollback(self, record: ReleaseRecord) -> Labels:
        if record.label == CANARY:
            if self.canary is None:
                raise _refused(record, "there is no canary", "Nothing needs to be done.")
            return dataclasses.replace(self, canary=None, canary_weight=0.0)
        version = _target(record)
        if self.canary is not None or version not in self.previous:
            raise _refused(record, "it is no earlier stable version", "Promote it instead.")
        last = len(self.previous) - 1 - self.previous[::-1].index(version)
        return Labels(stable=version, previous=self.previous[:last])

    def _remove(self, record: ReleaseRecord) -> Labels:
        version = record.from_version
        return dataclasses.replace(self, previous=tuple(v for v in self.previous if v != version))


def _target(record: ReleaseRecord) -> int:
    if record.to_version is None:
        raise ConfigError(f"{record.action} names no version.", field="version")
    return record.to_version


def _refused(record: ReleaseRecord, problem: str, remedy: str) -> ConfigError:
    version = f" of version {record.version}" if record.version is not None else ""
    return ConfigError(f"{record.action}{version} is refused: {problem}.", field="version", remedy=remedy)


def _unreadable(source: str, problem: str) -> PackageError:
    return PackageError(
        f"{source}: {problem.rstrip('.')}.",
        field=source,
        remedy="Restore it, or remove it: the next release command makes it anew from releases.jsonl.",
    )


def _is_version(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_weight(value: Any, canary: int | None) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return value == 0 if canary is None else 0 < value < 1
