"""LifecycleState: what the server does between its start and its end."""

from __future__ import annotations

from enum import Enum


class LifecycleState(Enum):
    """STARTING → WARMING → READY → DRAINING; tokens are served in WARMING and READY.

    WARMING: the first calls of the model are slow, so that a load balancer had better wait.
    """

    STARTING = "starting"
    WARMING = "warming"
    READY = "ready"
    DRAINING = "draining"
