"""ValidationRecord: the loss on held-out text after a step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ValidationRecord:
    """One validation.

    Args:
        step: after which it was made; 0 is before the first.
        loss: mean negative log-likelihood per label, in nats.
    """

    step: int
    loss: float
