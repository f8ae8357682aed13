"""PushResult: what a push did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PushResult:
    """A pushed version.

    Args:
        path: where it lies.
        new: whether this push made it; False if the same content was the newest version already.
        label: "stable" or "canary" if it has that label now, else "".
        removed: older versions that retention removed.
    """

    path: Path
    new: bool
    label: str = ""
    removed: tuple[int, ...] = ()
