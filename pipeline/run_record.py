"""RunRecord: what is known of one run, for tables and for JSON."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from pipeline.component_run import ComponentRun


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a pipeline.

    Args:
        run_id: its id; ids sort by time.
        pipeline: the pipeline's name.
        state: "pushed", "unchanged" (the same content was pushed before), "not blessed", "failed",
            "running", "interrupted", "finished" (ended without an error, but ML Metadata does not know the
            run any more, so its outcome is not known), "elsewhere" (another working directory's run in a
            shared store, not ended as far as the store knows) or "unreadable" (its journal is broken and ML
            Metadata does not know it).
        started: Unix seconds.
        seconds: wall time so far.
        perplexity: of the candidate on the held-out windows, None before it was measured or if not finite.
        baseline_perplexity: of the baseline on the same windows.
        ratio: the first over the second.
        interval: of the ratio, paired bootstrap.
        confidence: its level.
        bits_per_byte: of the candidate on the held-out windows.
        intervals: name of a figure → its interval at `confidence`.
        scored: held-out tokens scored.
        baseline: what the baseline was, in words.
        blessed: the evaluator's verdict, None before there was one.
        reasons: why, by both validators.
        faults: those of the reasons that forbade the push.
        servable: the serving validator's verdict.
        pushed_version: version pushed, or None.
        pushed_path: where it lies, or None.
        content_hash: of the version, "" if none was pushed.
        report_path: the page that explains it all, or None.
        vocabulary: of a run from scratch, what it made: size, fingerprint, bytes learned from and bytes per
            token on either split.
        error: why it failed, or None.
        peak_memory_bytes: of the run's process, 0 if not recorded.
        components: in the order they ran.
    """

    run_id: str
    pipeline: str
    state: str
    started: float
    seconds: float
    perplexity: float | None = None
    baseline_perplexity: float | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    confidence: float = 0.95
    bits_per_byte: float | None = None
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    scored: int = 0
    baseline: str = ""
    blessed: bool | None = None
    servable: bool | None = None
    reasons: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    pushed_version: int | None = None
    pushed_path: str | None = None
    content_hash: str = ""
    report_path: str | None = None
    vocabulary: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    peak_memory_bytes: int = 0
    components: tuple[ComponentRun, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The record as plain values."""
        return dataclasses.asdict(self)
