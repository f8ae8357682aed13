"""Blessing: a validator's verdict with its reasons, as TFX's own components store it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MESSAGE_PROPERTY = "blessing_message"
REASONS_FILE = "blessing.json"


@dataclass(frozen=True, slots=True)
class Blessing:
    """A verdict.

    Args:
        blessed: whether the model may go on.
        reasons: what decided it, one sentence each; never empty.
    """

    blessed: bool
    reasons: tuple[str, ...]

    def write(self, artifact: Any, *, prefix: str = "") -> None:
        """Store the verdict in a ModelBlessing or InfraBlessing artifact.

        Writes the marker file TFX's consumers know (`BLESSED` or `NOT_BLESSED`, `INFRA_` before it for
        a prefix "INFRA_"), the reasons as JSON, and the custom properties `blessed` (0 or 1) and
        `blessing_message`.
        """
        folder = Path(artifact.uri)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{prefix}{'' if self.blessed else 'NOT_'}BLESSED").write_text("", encoding="utf-8")
        text = json.dumps({"blessed": self.blessed, "reasons": list(self.reasons)}, ensure_ascii=False)
        (folder / REASONS_FILE).write_text(text + "\n", encoding="utf-8")
        artifact.set_int_custom_property("blessed", int(self.blessed))
        artifact.set_string_custom_property(MESSAGE_PROPERTY, " ".join(self.reasons))

    @classmethod
    def read(cls, artifact: Any) -> Blessing:
        """The verdict stored in an artifact; one without a verdict counts as not blessed."""
        path = Path(artifact.uri) / REASONS_FILE
        if not path.is_file():
            return cls(False, (f"{artifact.uri} holds no verdict.",))
        raw = json.loads(path.read_text(encoding="utf-8"))
        blessed = artifact.get_int_custom_property("blessed") == 1 and raw["blessed"]
        return cls(blessed, tuple(raw["reasons"]))


def is_blessed(evaluation: Any) -> bool:
    """Whether a manifest's evaluation summary, of whatever origin, says that the package was blessed."""
    return isinstance(evaluation, dict) and evaluation.get("blessed") is True
