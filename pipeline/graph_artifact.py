"""GraphArtifact: an artifact as ML Metadata recorded it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class GraphArtifact:
    """One artifact.

    Args:
        id: in ML Metadata.
        type: name of its type, e.g. "Examples".
        uri: where it was written.
        state: "live", "pending", "deleted" …
        properties: custom properties, as plain values.
    """

    id: int
    type: str
    uri: str
    state: str = "live"
    properties: dict[str, Any] = field(default_factory=dict)
