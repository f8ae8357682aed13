"""Tokens as people see them: the text with a background per token."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_BACKGROUNDS = {False: ("#d4e6ff", "#ffe3b8"), True: ("bright_cyan", "bright_yellow")}
"""Of neighbours, by whether there are only sixteen colours, in which the first two would be one. The letters
are black: they are read on light and on dark terminals."""
_PLAIN, _WHITE, _CUT, _SPECIAL = "black", "#6b7785", "bold #b00020", "bold white on #6a1b9a"
_MARKS = {" ": "·", "\t": "→", "\n": "⏎", "\r": "␍"}
_DOTTED_CIRCLE = "◌"
_ESCAPED = ("Cc", "Cf", "Cn", "Co", "Zs", "Zl", "Zp")
"""Categories of characters that show nothing or move what follows."""

_Part = tuple[str, str]


def token_view(pieces: Sequence[bytes], special: Sequence[bool], *, sixteen: bool = False) -> list[Text]:
    """Lines with every token on a background of its own, white space visible.

    A space is shown as `·`, a tab as `→`, a line end as `⏎` before it; other characters that show nothing
    as escapes. Bytes of a character that a token cuts are shown in hex: `<e6 97>`.

    Args:
        pieces: bytes of each token.
        special: whether it is a special token, which is shown as its content on a colour of its own.
        sixteen: whether the terminal has no more colours than these.
    """
    from pipeline.terminal import styled

    lines: list[list[_Part]] = [[]]
    for place, (piece, is_special) in enumerate(zip(pieces, special, strict=True)):
        background = _BACKGROUNDS[sixteen][place % 2]
        for (style, ends), parts in groupby(_shown(piece), key=lambda part: part[1:]):
            shown = [text for text, *_ in parts]
            for text in shown if ends else ["".join(shown)]:
                lines[-1].append((text, _SPECIAL if is_special else f"{style} on {background}"))
                if ends:
                    lines.append([])
    return [styled(*line) for line in (lines if lines[-1] else lines[:-1])]


def _shown(piece: bytes) -> Iterator[tuple[str, str, bool]]:
    """Parts of a token: what is shown, its style without the background, whether a line ends there."""
    text = piece.decode("utf-8", "surrogateescape")
    if text and unicodedata.combining(text[0]):
        yield _DOTTED_CIRCLE, _WHITE, False
    cut: list[int] = []
    for one in text:
        if "\udc80" <= one <= "\udcff":
            cut.append(ord(one) - 0xDC00)
            continue
        yield from _hex(cut)
        cut = []
        yield _character(one)
    yield from _hex(cut)


def _hex(cut: Sequence[int]) -> Iterator[tuple[str, str, bool]]:
    if cut:
        yield f"<{bytes(cut).hex(' ')}>", _CUT, False


def _character(one: str) -> tuple[str, str, bool]:
    if one in _MARKS:
        return _MARKS[one], _WHITE, one == "\n"
    if unicodedata.category(one) in _ESCAPED:
        return one.encode("unicode_escape").decode("ascii"), _WHITE, False
    return one, _PLAIN, False
