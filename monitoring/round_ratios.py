"""Ratios of two sides that took turns: of each round, then the median. Pure.

A machine's speed changes over minutes; two turns of one round saw nearly the same machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RoundRatio:
    """How two sides compare.

    Args:
        median: of the rounds' ratios.
        low: smallest of them.
        high: largest of them.
        rounds: how many there are.
    """

    median: float
    low: float
    high: float
    rounds: int


def round_ratio(above: Mapping[int, float], below: Mapping[int, float]) -> RoundRatio | None:
    """Ratio of `above` to `below`, both by round; None if no round has both.

    Args:
        above: positive figures by number of the round.
        below: the same of the other side.
    """
    ratios = [value / below[number] for number, value in above.items() if number in below]
    if not ratios:
        return None
    return RoundRatio(statistics.median(ratios), min(ratios), max(ratios), len(ratios))
