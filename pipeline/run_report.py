"""Runs as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from pipeline.pushed_versions import labels_of
from pipeline.run_record import RunRecord

_COLOURS = {"pushed": "green", "unchanged": "green", "not blessed": "yellow", "failed": "red"}


def run_table(record: RunRecord) -> Table:
    """What a run found and did, one fact a line."""
    table = Table(title=f"Run {record.run_id}", box=box.ROUNDED, show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(record):
        table.add_row(name, value)
    return table


def components_table(record: RunRecord) -> Table:
    """The components of a run with state, duration and artifacts."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("component", "state", "seconds", "artifacts"):
        table.add_column(name, justify="right" if name == "seconds" else "left", overflow="fold")
    for run in record.components:
        paths = "\n".join(f"{key}: {path}" for key, path in run.outputs.items())
        table.add_row(run.id, run.state, f"{run.seconds:.1f}", paths)
    return table


def runs_table(records: Sequence[RunRecord]) -> Table:
    """One line per run, newest first."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("run", "pipeline", "state", "before", "after", "change", "version", "time"):
        right = name in ("before", "after", "change", "time")
        table.add_column(name, justify="right" if right else "left", no_wrap=name != "pipeline")
    for record in records:
        table.add_row(
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


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    facts = [("state", _coloured(record.state))]
    if record.error:
        facts.append(("error", record.error))
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
    return f"none: `tokenmill canary {version.parent.name}` tries it, `tokenmill promote` makes it stable"


def _change(record: RunRecord) -> str:
    if record.ratio is None:
        return "–"
    text = f"{(record.ratio - 1) * 100:+.2f} %"
    if record.interval is None:
        return text
    low, high = ((end - 1) * 100 for end in record.interval)
    return f"{text}  ({record.confidence:.0%} interval {low:+.2f} to {high:+.2f} %, paired)"


def _coloured(state: str) -> str:
    colour = _COLOURS.get(state)
    return f"[{colour}]{state}[/]" if colour else state


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
