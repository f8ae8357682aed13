"""Figures of a decode benchmark from its runs: medians, ratios of rounds, equal tokens. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from monitoring.round_ratios import RoundRatio, round_ratio
from serving.benchmarks.decode_run import DecodeRun

COMPARED_TOKENS = 32
"""So many first ids of each answer are compared."""


@dataclass(frozen=True, slots=True)
class EngineSummary:
    """One engine at one batch size.

    Args:
        batch: rows.
        engine: name.
        step_ms: median milliseconds per decode step.
        tokens_per_second: over all rows, at the median step.
        first_ms: median milliseconds to the first ids.
        of_limit: median share of the memory's bandwidth: weights once per step; None if their size is
            unknown.
        step_ratio: the engine's step time over the reference's: above 1, the reference is faster.
        first_ratio: the same of the time to the first ids.
        equal_tokens: ids that equal the reference's, of `compared_tokens`.
        compared_tokens: first ids of all rows.
        first_difference: least index of an id that differs in some row; None if all are equal.
    """

    batch: int
    engine: str
    step_ms: float
    tokens_per_second: float
    first_ms: float
    of_limit: float | None
    step_ratio: RoundRatio | None
    first_ratio: RoundRatio | None
    equal_tokens: int
    compared_tokens: int
    first_difference: int | None


def summarize(
    runs: Sequence[DecodeRun], references: Mapping[int, str], weights_bytes: Mapping[str, int]
) -> list[EngineSummary]:
    """Summaries by batch and engine, in the order of their first runs.

    Args:
        runs: all turns.
        references: by batch, the engine that the others are compared with.
        weights_bytes: by engine, bytes that a step reads.
    """
    pairs = dict.fromkeys((run.batch, run.engine) for run in runs)
    return [
        _summary(
            [run for run in runs if (run.batch, run.engine) == (batch, engine)],
            [run for run in runs if (run.batch, run.engine) == (batch, references.get(batch))],
            weights_bytes.get(engine, 0),
        )
        for batch, engine in pairs
    ]


def _summary(runs: list[DecodeRun], reference: list[DecodeRun], weights: int) -> EngineSummary:
    step = statistics.median(run.step_seconds for run in runs)
    shares = [weights / run.step_seconds / run.bandwidth for run in runs]
    ours, theirs = runs[0].ids, reference[0].ids if reference else []
    differences = [_first_difference(a, b) for a, b in zip(ours, theirs, strict=False)]
    found = [place for place in differences if place is not None]
    return EngineSummary(
        batch=runs[0].batch,
        engine=runs[0].engine,
        step_ms=step * 1e3,
        tokens_per_second=runs[0].batch / step,
        first_ms=statistics.median(run.first_seconds for run in runs) * 1e3,
        of_limit=statistics.median(shares) if weights else None,
        step_ratio=_ratio(runs, reference, "step_seconds"),
        first_ratio=_ratio(runs, reference, "first_seconds"),
        equal_tokens=sum(
            x == y
            for a, b in zip(ours, theirs, strict=False)
            for x, y in zip(a[:COMPARED_TOKENS], b[:COMPARED_TOKENS], strict=False)
        ),
        compared_tokens=sum(min(len(row), COMPARED_TOKENS) for row in theirs),
        first_difference=min(found, default=None),
    )


def _ratio(runs: list[DecodeRun], reference: list[DecodeRun], figure: str) -> RoundRatio | None:
    above, below = ({run.round: getattr(run, figure) for run in side} for side in (runs, reference))
    return round_ratio(above, below)


def _first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Index of the first id, within those compared, that differs; None if there is none."""
    pairs = list(zip(ours[:COMPARED_TOKENS], theirs[:COMPARED_TOKENS], strict=False))
    equal = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return equal if equal < len(pairs) else None


def as_json(summaries: Sequence[EngineSummary]) -> list[dict[str, object]]:
    """Summaries as plain values."""
    return [dataclasses.asdict(summary) for summary in summaries]
