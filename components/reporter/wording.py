"""Numbers as people read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

NONE = "–"

_LARGEST = 1e9
"""From here on numbers are said by their power of ten."""

_MULTIPLE = 100.0


def number(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """A number with thousands separated; very small and very large ones keep three figures."""
    if value is None:
        return NONE
    sign = "+" if signed else ""
    if (digits and value and abs(value) < 10**-digits) or (digits and abs(value) >= _LARGEST):
        return f"{value:{sign}.3g}".replace("-", "−")
    return f"{value:{sign},.{digits}f}".replace("-", "−")


def percent(share: float | None, digits: int = 0) -> str:
    """A share of one as a percentage."""
    return NONE if share is None else f"{share * 100:.{digits}f}%"


def signed_percent(ratio: float | None, digits: int = 2) -> str:
    """A ratio as a change in percent; from a hundredfold on as a multiple."""
    if ratio is None:
        return NONE
    if ratio >= _MULTIPLE:
        return f"× {number(ratio, 0) if ratio < _LARGEST else number(ratio)}"
    return f"{(ratio - 1) * 100:+.{digits}f}%".replace("-", "−")


def span(interval: Sequence[float]) -> str:
    """An interval in words."""
    return f"{number(interval[0])} to {number(interval[1])}"


def duration(seconds: float | None) -> str:
    """Hours, minutes and seconds."""
    if seconds is None:
        return NONE
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def size(count: int | None) -> str:
    """Bytes in the nearest unit."""
    if count is None:
        return NONE
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
