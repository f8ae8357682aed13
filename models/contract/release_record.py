"""ReleaseRecord: one change of a push directory, a line of its `releases.jsonl`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from models.contract.errors import PackageError

STABLE, CANARY = "stable", "canary"
LABELS = (STABLE, CANARY)

Action = Literal["push", "adopt", "canary", "promote", "rollback", "remove"]
ACTIONS: tuple[str, ...] = get_args(Action)

_KEYS = {"from_version": "from", "to_version": "to"}
"""Names that JSON has and Python reserves, or that would read badly alone."""


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """What was done to which version, by whom and why.

    Args:
        sequence: 1, 2, …; without gaps in one push directory.
        time: ISO 8601, UTC.
        action: "push" (a version appeared), "adopt" (one was found that no push had recorded), "canary",
            "promote", "rollback", "remove" (retention, or the version was found missing).
        label: "stable", "canary", or "" for an action that moves no label.
        from_version: version the label stood on before; for "remove" the version that is gone.
        to_version: version it stands on now, or that appeared; None where a label or version ends.
        weight: share of the traffic that goes to a canary, between 0 and 1; else None.
        who: user who did it.
        reason: why, in words; may be empty.
        run_id: pipeline run that made the version concerned, "" for a manual export.
        content_hash: of the version concerned (`to_version`, else `from_version`).
        blessed: whether an evaluation blessed the version concerned.
    """

    sequence: int
    time: str
    action: Action
    label: str = ""
    from_version: int | None = None
    to_version: int | None = None
    weight: float | None = None
    who: str = ""
    reason: str = ""
    run_id: str = ""
    content_hash: str = ""
    blessed: bool = False

    @property
    def version(self) -> int | None:
        """The version concerned: where the label went, else what it left."""
        return self.from_version if self.to_version is None else self.to_version

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the versions are called `from` and `to`."""
        return {_KEYS.get(name, name): getattr(self, name) for name in _TYPES}

    def to_line(self) -> str:
        """The record as one line of JSON with its line end."""
        return json.dumps(self.to_dict(), ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, raw: Any, *, source: str = "release record") -> Self:
        """Check plain values; unknown keys are passed over.

        Raises:
            PackageError: it is no record; the message names the field and the value received.
        """
        if not isinstance(raw, dict):
            raise PackageError(f"{source}: {raw!r} is no release record.", field=source)
        values = {name: raw[key] for name in _TYPES if (key := _KEYS.get(name, name)) in raw}
        for name in ("sequence", "time", "action"):
            if name not in values:
                raise PackageError(f"{source}: `{name}` is missing.", field=name)
        for name, value in values.items():
            # JSON's true would pass as the number 1.
            if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "blessed"):
                raise PackageError(f"{source}: `{_KEYS.get(name, name)}` is {value!r}.", field=name)
        record = cls(**values)
        record._check(source)
        return record

    @classmethod
    def from_line(cls, line: str, *, source: str = "release record") -> Self:
        """Parse what `to_line` wrote.

        Raises:
            PackageError: it is not JSON or no record.
        """
        try:
            raw = json.loads(line)
        except ValueError as error:
            raise PackageError(f"{source}: not JSON: {error}.", field=source) from error
        return cls.from_dict(raw, source=source)

    def _check(self, source: str) -> None:
        if self.action not in ACTIONS:
            raise PackageError(
                f"{source}: `action` is {self.action!r}, known are {', '.join(ACTIONS)}.", field="action"
            )
        if self.label not in ("", *LABELS):
            raise PackageError(
                f"{source}: `label` is {self.label!r}, known are {', '.join(LABELS)}.", field="label"
            )
        if self.sequence < 1:
            raise PackageError(
                f"{source}: `sequence` is {self.sequence}, it counts from 1.", field="sequence"
            )


_TYPES: dict[str, tuple[type, ...]] = {
    "sequence": (int,),
    "time": (str,),
    "action": (str,),
    "label": (str,),
    "from_version": (int, type(None)),
    "to_version": (int, type(None)),
    "weight": (int, float, type(None)),
    "who": (str,),
    "reason": (str,),
    "run_id": (str,),
    "content_hash": (str,),
    "blessed": (bool,),
}
