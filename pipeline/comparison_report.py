"""A comparison of runs as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from pipeline.data_table import DataTable
from pipeline.run_comparison import RunComparison
from pipeline.run_report import duration
from pipeline.terminal import styled

_NAMES = {
    "state": "state",
    "perplexity": "perplexity",
    "bits_per_byte": "bits per byte",
    "baseline": "measured against",
    "baseline_perplexity": "its perplexity",
    "ratio": "change",
    "scored": "held-out tokens scored",
    "blessed": "blessed by the evaluation",
    "servable": "blessed by the serving check",
    "pushed_version": "pushed version",
    "seconds": "wall time",
    "peak_memory_bytes": "peak memory",
}
_FORMS = {
    "scored": ",d",
    "training_final_loss": ".4f",
    "training_tokens_per_second": ",.0f",
    "training_trainable_share": ".2%",
}
"""How figures are written that are no float with three digits."""
_INTERVAL = "_interval"


def comparison_tables(comparison: RunComparison) -> list[RenderableType]:
    """Figures, then what differs of settings and data, then the components' times."""
    ids = [run.run_id for run in comparison.runs]
    parts: list[RenderableType] = [_table("Figures", ids, _figure_rows(comparison.figures))]
    if not comparison.same_text:
        parts.append("Not all were measured on the same windows: only changes against a baseline compare.\n")
    for title, rows in (
        ("Settings that differ", comparison.settings),
        ("Data that differs", comparison.data),
    ):
        if rows:
            parts.append(_table(title, ids, {name: list(map(_plain, row)) for name, row in rows.items()}))
        elif title.startswith("Data") or not comparison.unknown_settings:
            parts.append(f"{title}: nothing\n")
    if comparison.unknown_settings:
        parts.append(f"The settings of {', '.join(comparison.unknown_settings)} are not known here.\n")
    times = {
        name: ["–" if value is None else duration(value) for value in row]
        for name, row in comparison.seconds.items()
    }
    return [*parts, _table("Time (– from cache or not run)", ids, times)]


def _table(title: str, ids: Sequence[str], rows: Mapping[str, Sequence[str]]) -> DataTable:
    table = DataTable(("", *ids), prose=ids, title=title)
    for name, values in rows.items():
        first = values[0]
        table.add(name, *(styled((value, "" if value == first else "bold")) for value in values))
    return table


def _figure_rows(figures: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for name, values in figures.items():
        if name.endswith(_INTERVAL):
            continue
        intervals = figures.get(name + _INTERVAL, [None] * len(values))
        label = _NAMES.get(name, name.replace("_", " "))
        rows[label] = [_figure(name, value, ends) for value, ends in zip(values, intervals, strict=True)]
    return rows


def _figure(name: str, value: Any, interval: tuple[float, float] | None) -> str:
    # No evaluation scores nothing: 0 tokens is a figure that is not known.
    if value is None or value == "" or (name == "scored" and not value):
        return "–"
    if name == "seconds":
        return duration(value)
    if name == "peak_memory_bytes":
        return f"{value / 1e9:.1f} GB" if value else "–"
    if name == "ratio":
        ends = None if interval is None else tuple((end - 1) * 100 for end in interval)
        return f"{(value - 1) * 100:+.2f} %" + (f"  ({ends[0]:+.2f} to {ends[1]:+.2f} %)" if ends else "")
    form = _FORMS.get(name, ",.3f" if isinstance(value, float) else "")
    text = format(value, form) if form and not isinstance(value, str) else _plain(value)
    return text if interval is None else f"{text}  ({interval[0]:{form}} to {interval[1]:{form}})"


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
