"""Runs as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.text import Text

from components.reporter.release_place import release_place
from pipeline.data_table import DataTable
from pipeline.pushed_versions import labels_of
from pipeline.run_record import RunRecord
from pipeline.terminal import styled

_COLOURS = {"pushed": "green", "unchanged": "green", "not blessed": "yellow", "failed": "red"}


def run_table(record: RunRecord) -> DataTable:
    """What a run found and did, one fact a line."""
    title = f"Run {record.run_id}"
    table = DataTable(
        ("fact", "value"), prose=("fact", "value"), title=title, header=False, frame=box.ROUNDED
    )
    for name, value in _facts(record):
        table.add(styled((name, "bold")), value)
    return table


def components_table(record: RunRecord) -> DataTable:
    """The components of a run with state, duration and artifacts."""
    table = DataTable(
        ("component", "state", "seconds", "artifacts"), right=("seconds",), prose=("artifacts",)
    )
    for run in record.components:
        paths = "\n".join(f"{key}: {path}" for key, path in run.outputs.items())
        table.add(run.id, run.state, f"{run.seconds:.1f}", paths)
    return table


def runs_table(records: Sequence[RunRecord]) -> DataTable:
    """One line per run, newest first."""
    table = DataTable(
        ("run", "pipeline", "state", "before", "after", "change", "version", "time"),
        right=("before", "after", "change", "time"),
        spare=("pipeline", "time"),
    )
    for record in records:
        table.add(
            record.run_id,
            record.pipeline,
            _coloured(record.state),
            _figure(record.baseline_perplexity),
            _figure(record.perplexity),
            f"{(record.ratio - 1) * 100:+.1f} %" if record.ratio else "–",
            str(record.pushed_version or "–"),
            duration(record.seconds),
        )
    return table


def duration(seconds: float) -> str:
    """Minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _facts(record: RunRecord) -> list[tuple[str, str | Text]]:
    facts: list[tuple[str, str | Text]] = [("state", _coloured(record.state))]
    if record.error:
        facts.append(("error", record.error))
    if record.vocabulary:
        facts.append(("vocabulary", _vocabulary(record.vocabulary)))
    if record.scored:
        facts += [
            (f"perplexity before ({record.baseline})", _figure(record.baseline_perplexity)),
            ("perplexity after", _figure(record.perplexity)),
            ("change", _change(record)),
            ("held-out tokens scored", f"{record.scored:,}"),
        ]
    if record.blessed is not None:
        facts.append(("blessed by the evaluation", "yes" if record.blessed else "no"))
    if record.servable is not None:
        facts.append(("blessed by the serving check", "yes" if record.servable else "no"))
    facts += [("why", reason) for reason in record.reasons]
    if record.pushed_version is not None:
        facts.append(("pushed version", f"{record.pushed_version} ({record.pushed_path})"))
        facts.append(("label now", _label(Path(record.pushed_path or ""))))
    if record.report_path:
        facts.append(("report", record.report_path))
    facts.append(("wall time", duration(record.seconds)))
    if record.peak_memory_bytes:
        facts.append(("peak memory", f"{record.peak_memory_bytes / 1e9:.1f} GB"))
    return facts


def _label(version: Path) -> str:
    labels = labels_of(version.parent, int(version.name))
    if labels:
        return ", ".join(labels)
    place = release_place(version)
    return f"none: `tokenmill canary {place}` tries it, `tokenmill promote {place}` makes it stable"


def _vocabulary(figures: Mapping[str, Any]) -> str:
    text = f"{figures.get('size', 0):,} tokens"
    learned, held_out = (figures.get(f"bytes_per_token_{split}") for split in ("train", "eval"))
    if learned and held_out:
        text += f", {learned:.2f} bytes per token on the text it was made of, {held_out:.2f} held out"
    return text


def _change(record: RunRecord) -> str:
    if record.ratio is None:
        return "–"
    text = f"{(record.ratio - 1) * 100:+.2f} %"
    if record.interval is None:
        return text
    low, high = ((end - 1) * 100 for end in record.interval)
    return f"{text}  ({record.confidence:.0%} interval {low:+.2f} to {high:+.2f} %, paired)"


def _coloured(state: str) -> Text:
    return styled((state, _COLOURS.get(state, "")))


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
