"""Files of a decode benchmark: raw JSON, a page with an interactive chart, and a plain chart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

_WIDTH, _LABEL, _BAR, _GAP = 860, 190, 20, 8
_COLOURS = {"tokenmill": "#1f6feb", "other": "#9aa4b2", "limit": "#d1495b"}


def write_report(result: Mapping[str, Any], out: Path) -> list[Path]:
    """Write decode.json, decode.html and decode.svg into a directory; returns their paths.

    None of them loads anything from elsewhere.

    Args:
        result: plain values with "machine", "settings" and "summary".
        out: existing directory.
    """
    texts = {
        "decode.json": json.dumps(result, indent=2) + "\n",
        "decode.html": _page(result),
        "decode.svg": bars_svg(result),
    }
    paths = []
    for name, text in texts.items():
        staged = out / f".{name}.part"
        staged.write_text(text, encoding="utf-8")
        paths.append(staged.replace(out / name))
    return paths


def limit_ms(result: Mapping[str, Any], line: Mapping[str, Any]) -> float | None:
    """Milliseconds that the weights of an engine take to be read; None if their size is unknown."""
    share = line["of_limit"]
    return None if share is None else line["step_ms"] * share


def _page(result: Mapping[str, Any]) -> str:
    import plotly.graph_objects as go

    figure = go.Figure()
    for engine in dict.fromkeys(line["engine"] for line in result["summary"]):
        lines = [line for line in result["summary"] if line["engine"] == engine]
        figure.add_bar(
            name=engine,
            x=[f"batch {line['batch']}" for line in lines],
            y=[line["step_ms"] for line in lines],
            text=[f"{line['tokens_per_second']:.0f} tokens/s" for line in lines],
        )
    settings = result["settings"]
    figure.update_layout(
        title=f"{settings['source']}: {settings['tokens']} tokens after {settings['prompt']}",
        yaxis_title="milliseconds per step",
        barmode="group",
        template="plotly_white",
    )
    return figure.to_html(include_plotlyjs=True, full_html=True)


def bars_svg(result: Mapping[str, Any]) -> str:
    """A bar per engine and batch size; the mark in it is the time its weights take to be read."""
    lines: Sequence[Mapping[str, Any]] = result["summary"]
    longest = max((line["step_ms"] for line in lines), default=1.0)
    scale = (_WIDTH - _LABEL - 120) / longest
    parts, y, batch = [], 10, None
    for line in lines:
        if line["batch"] != batch:
            batch = line["batch"]
            y += 22
            parts.append(f'<text x="8" y="{y}" font-weight="bold">batch {batch}</text>')
            y += _GAP
        parts += _bar(result, line, y, scale)
        y += _BAR + _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 10}" font-family="sans-serif" '
        f'font-size="13"><rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n"
    )


def _bar(result: Mapping[str, Any], line: Mapping[str, Any], y: int, scale: float) -> list[str]:
    kind = "tokenmill" if line["engine"].startswith("tokenmill") else "other"
    width, middle = line["step_ms"] * scale, y + _BAR - 5
    parts = [
        f'<text x="{_LABEL - 8}" y="{middle}" text-anchor="end">{escape(line["engine"])}</text>',
        f'<rect x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{_COLOURS[kind]}"/>',
        f'<text x="{_LABEL + width + 6:.1f}" y="{middle}">{line["step_ms"]:.1f} ms</text>',
    ]
    limit = limit_ms(result, line)
    if limit is not None:
        x = _LABEL + limit * scale
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 2}" y2="{y + _BAR + 2}" '
            f'stroke="{_COLOURS["limit"]}" stroke-width="2"/>'
        )
    return parts
