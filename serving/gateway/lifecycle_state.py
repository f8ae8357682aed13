"""LifecycleState: what the server does between its start and its end."""

from __future__ import annotations

from enum import Enum


class LifecycleState(Enum):
    """STARTING → READY → DRAINING; a request for tokens is served in READY only."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
