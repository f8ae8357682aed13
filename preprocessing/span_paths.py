"""Paths with `{SPAN}` and `{VERSION}`: what lies there, by TFX's rules."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models.contract.errors import DataError

_NUMBER = re.compile(r"\{(SPAN|VERSION)(?::([0-9]+))?\}")
_DATE = ("{YYYY}", "{MM}", "{DD}")
_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class SpanPath:
    """One span of a source: the newest version of it.

    Args:
        span: its number; of a date, the days since 1970-01-01.
        version: its version, or None without `{VERSION}`.
        root: the folder or file it lies in.
        prefix: how paths of its files begin, from the first variable part on.
    """

    span: int
    version: int | None
    root: Path
    prefix: str


def has_spans(path: str) -> bool:
    """Whether a source's path names spans."""
    return "{SPAN" in path or any(token in path for token in _DATE)


def span_fault(path: str) -> str | None:
    """What is wrong with the placeholders of a path, or None; to be read after the path."""
    names = [match.group(1) for match in _NUMBER.finditer(path)]
    dates = [path.count(token) for token in _DATE]
    if max([names.count("SPAN"), names.count("VERSION"), *dates]) > 1:
        return "has a placeholder twice; write each of {SPAN} and {VERSION} once"
    if any(dates) and (not all(dates) or "SPAN" in names):
        return "mixes placeholders; write {SPAN}, or {YYYY}, {MM} and {DD} together"
    if "VERSION" in names and not has_spans(path):
        return "has {VERSION} without {SPAN}; a version belongs to a span"
    if any(int(match.group(2)) == 0 for match in _NUMBER.finditer(path) if match.group(2)):
        return "has a width of 0; write {SPAN} or {SPAN:2}"
    return None


def find_spans(path: str) -> list[SpanPath]:
    """The newest version of every span that a path with placeholders leads to, ascending.

    Args:
        path: absolute, with `{SPAN}` or `{SPAN:width}` (or `{YYYY}`, `{MM}` and `{DD}`), maybe
            `{VERSION}`; they may stand in different parts of the path.

    Raises:
        DataError: two paths are the same span and version, e.g. `span-1` and `span-01`, or a date does
            not exist.
    """
    parts = Path(path).parts
    fixed = next(index for index, part in enumerate(parts) if "{" in part)
    base, pattern = Path(*parts[:fixed]), parts[fixed:]
    found: dict[tuple[int, int], SpanPath] = {}
    for relative in _matches(base, pattern):
        one = _describe(base, "/".join(pattern), relative)
        key = (one.span, -1 if one.version is None else one.version)
        if key in found:
            raise DataError(
                f"{found[key].root} and {one.root} are the same span and version.",
                field=str(one.root),
                remedy="Keep one of them, or give the width of the number, e.g. {SPAN:2}.",
            )
        found[key] = one
    newest = {key[0]: found[key] for key in sorted(found)}
    return list(newest.values())


def _matches(base: Path, pattern: tuple[str, ...]) -> Iterator[str]:
    """Paths below `base` whose every part fits the pattern's."""
    if not base.is_dir():
        return
    part, rest = re.compile(_expression(pattern[0])), pattern[1:]
    for entry in sorted(base.iterdir()):
        if not part.fullmatch(entry.name):
            continue
        if not rest:
            yield entry.name
        elif entry.is_dir():
            yield from (f"{entry.name}/{below}" for below in _matches(entry, rest))


def _expression(pattern: str) -> str:
    """A regular expression with groups SPAN, VERSION, YYYY, MM and DD."""
    widths = {"{YYYY}": ("YYYY", 4), "{MM}": ("MM", 2), "{DD}": ("DD", 2)}
    pieces = re.split(r"(\{[A-Z]+(?::[0-9]+)?\})", pattern)
    expression = ""
    for piece in pieces:
        number = _NUMBER.fullmatch(piece)
        if number:
            width = f"{{{number.group(2)}}}" if number.group(2) else "+"
            expression += f"(?P<{number.group(1)}>[0-9]{width})"
        elif piece in widths:
            expression += f"(?P<{widths[piece][0]}>[0-9]{{{widths[piece][1]}}})"
        else:
            expression += re.escape(piece)
    return expression


def _describe(base: Path, pattern: str, relative: str) -> SpanPath:
    match = re.fullmatch(_expression(pattern), relative)
    groups = {} if match is None else match.groupdict()
    span = int(groups["SPAN"]) if "SPAN" in groups else _days(groups, base / relative)
    version = int(groups["VERSION"]) if "VERSION" in groups else None
    return SpanPath(span, version, base / relative, relative)


def _days(groups: dict[str, str], path: Path) -> int:
    try:
        date = datetime.date(int(groups["YYYY"]), int(groups["MM"]), int(groups["DD"]))
    except ValueError as error:
        raise DataError(
            f"{path} names no date: {error}.",
            field=str(path),
            remedy="Rename it or move it out of the spans.",
        ) from error
    return (date - _EPOCH).days
