"""Check: one limit of the gate, whether it holds, and what to do if not."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["passed", "failed", "warning", "not judged"]

ROUNDING = 1e-6
"""Relative; the same weights scored by two kernels may differ by this much, which is no regression."""


@dataclass(frozen=True, slots=True)
class Check:
    """One limit.

    Args:
        name: the setting that holds the limit, e.g. "gate.max_ratio".
        about: what was measured, e.g. "Perplexity against the baseline".
        status: "failed" forbids the blessing; "warning" does not.
        sentence: value, limit and verdict in words.
        value: what was measured, None if nothing could be.
        limit: what it is held against; None if nothing was.
        next_step: what to do about it; "" where nothing needs to be done.
        slice: `<property>=<value>` of the slice it is about, "" for the whole.
    """

    name: str
    about: str
    status: Status
    sentence: str
    value: float | None = None
    limit: float | None = None
    next_step: str = ""
    slice: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values; figures that are not finite are None."""
        plain = asdict(self)
        for name in ("value", "limit"):
            if plain[name] is not None and not math.isfinite(plain[name]):
                plain[name] = None
        return plain
