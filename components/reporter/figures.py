"""The page's charts as Plotly specifications: plain values, without colours of the theme. Pure.

Colours are names of the page's style ("@good"), which its script replaces when the theme changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Figure = dict[str, Any]

_STATUS_COLOURS = {"passed": "@good", "failed": "@bad", "warning": "@warn", "not judged": "@faint"}
_MOST_SMOOTHING = 0.9
_SMOOTHED_OVER = 8
"""Windows of smoothing that a curve has at least: a short one is smoothed less."""

_LONGEST_LABEL = 34
_KEPT = 16
"""Characters of a longer label that are kept at either end."""

_BASELINE, _CANDIDATE = "@before", "@after"


def loss_figure(training: Mapping[str, Any]) -> Figure | None:
    """Training loss, smoothed, and validation loss over tokens; None without a curve."""
    curve, validation = training.get("loss_curve") or [], training.get("validation_curve") or []
    if not curve:
        return None
    tokens, losses = _columns(curve, "tokens", "loss")
    traces = [
        _line(tokens, losses, "each step", colour="@faint", width=1),
        _line(tokens, smoothed(losses), "training, smoothed", colour="@after", width=2.5),
    ]
    if validation:
        tokens, losses = _columns(validation, "tokens", "loss")
        traces.append(_line(tokens, losses, "held out", colour="@accent", width=2.5, markers=True))
    layout = {
        "xaxis": {"title": {"text": "tokens trained on"}},
        "yaxis": {"title": {"text": "loss, nats per token"}},
        "showlegend": True,
    }
    return {"data": traces, "layout": layout}


def pace_figure(training: Mapping[str, Any]) -> Figure | None:
    """Learning rate and gradient norm over tokens; None where neither was kept."""
    curve = [point for point in training.get("loss_curve") or [] if "learning_rate" in point]
    if not curve:
        return None
    tokens, rates = _columns(curve, "tokens", "learning_rate")
    traces = [_line(tokens, rates, "learning rate", colour="@accent", width=2)]
    layout = {
        "xaxis": {"title": {"text": "tokens trained on"}},
        "yaxis": {"title": {"text": "learning rate"}, "rangemode": "tozero", "exponentformat": "e"},
        "showlegend": True,
    }
    if any(point.get("gradient_norm") for point in curve):
        norms = [point.get("gradient_norm") for point in curve]
        traces.append({**_line(tokens, norms, "gradient norm", colour="@before", width=1), "yaxis": "y2"})
        layout["yaxis2"] = {
            "title": {"text": "gradient norm"},
            "overlaying": "y",
            "side": "right",
            "rangemode": "tozero",
            "showgrid": False,
        }
    return {"data": traces, "layout": layout}


def comparison_figure(evaluation: Mapping[str, Any]) -> Figure | None:
    """Perplexity and bits per byte of both models with their intervals; None if none is finite."""
    panels = (("perplexity", "x", "perplexity"), ("bits_per_byte", "x2", "bits per byte"))
    traces = []
    for name, axis, _ in panels:
        for prefix, label, colour in (
            ("baseline_", "before", _BASELINE),
            ("", "after", _CANDIDATE),
        ):
            value = evaluation.get(prefix + name)
            if value is not None:
                interval = (evaluation.get("intervals") or {}).get(prefix + name)
                traces.append({**_point(value, interval, label, colour), "xaxis": axis})
    if not traces:
        return None
    layout = {
        "xaxis": {"domain": [0, 0.46], "title": {"text": panels[0][2]}, "nticks": 5},
        "xaxis2": {"domain": [0.54, 1], "title": {"text": panels[1][2]}, "nticks": 5},
        "yaxis": {"type": "category", "autorange": "reversed", "title": {"text": ""}},
        "showlegend": False,
        "height": 180,
    }
    return {"data": traces, "layout": layout}


def slices_figure(slices: Sequence[Mapping[str, Any]], whole: Mapping[str, Any]) -> Figure | None:
    """Ratios to the baseline by slice with intervals, a line where nothing changed; None without any.

    Args:
        slices: of the evaluation.
        whole: the evaluation, whose ratio comes first.
    """
    first = {**whole, "by": "", "slice": "all held-out text", "status": "", "limit": None}
    shown = [one for one in (first, *slices) if one.get("ratio") is not None]
    if len(shown) < 2:
        return None
    traces = []
    labels = [
        one["slice"] if not one["by"] else f"{one['by'].replace('_', ' ')}: {one['slice']}" for one in shown
    ]
    for one, label in zip(shown, _shortened(labels), strict=True):
        interval = (one.get("intervals") or {}).get("ratio")
        colour = _STATUS_COLOURS.get(one.get("status", ""), _CANDIDATE)
        traces.append(_point(one["ratio"], interval, label, colour))
    layout = {
        "xaxis": {"title": {"text": "× the baseline's perplexity"}, "nticks": 6},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
        "shapes": [_vertical(1.0)],
        "showlegend": False,
        "height": 110 + 34 * len(shown),
    }
    return {"data": traces, "layout": layout}


def smoothed(values: Sequence[float]) -> list[float]:
    """Exponential moving average, corrected for its start as in Adam."""
    keep = max(0.0, min(_MOST_SMOOTHING, 1 - _SMOOTHED_OVER / max(1, len(values))))
    mean, found = 0.0, []
    for count, value in enumerate(values, 1):
        mean = keep * mean + (1 - keep) * value
        found.append(mean / (1 - keep**count))
    return found


def _columns(rows: Sequence[dict[str, Any]], *names: str) -> tuple[list[Any], ...]:
    whole = [row for row in rows if all(row.get(name) is not None for name in names)]
    return tuple([row[name] for row in whole] for name in names)


def _line(
    x: list[float], y: list[Any], name: str, *, colour: str, width: float, markers: bool = False
) -> Figure:
    trace: Figure = {
        "type": "scatter",
        "mode": "lines+markers" if markers else "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {"color": colour, "width": width},
    }
    if markers:
        trace["marker"] = {"color": colour, "size": 7}
    return trace


def _point(value: float, interval: list[float] | None, label: str, colour: str) -> Figure:
    trace: Figure = {
        "type": "scatter",
        "mode": "markers",
        "x": [value],
        "y": [label],
        "name": label,
        "marker": {"color": colour, "size": 12},
        "hovertemplate": "%{y}: %{x:.4f}<extra></extra>",
    }
    if interval:
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [interval[1] - value],
            "arrayminus": [value - interval[0]],
            "color": colour,
            "thickness": 2,
            "width": 6,
        }
    return trace


def _vertical(at: float) -> Figure:
    line = {"color": "@ink", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _shortened(labels: Sequence[str]) -> list[str]:
    """Labels that fit beside a chart and stay as different as they were."""
    found: list[str] = []
    for label in labels:
        short = label if len(label) <= _LONGEST_LABEL else f"{label[:_KEPT]}…{label[-_KEPT:]}"
        number = 1
        while short in found:
            number += 1
            short = f"{short.removesuffix(f' ({number - 1})')} ({number})"
        found.append(short)
    return found
