"""Text for the terminal: what comes from outside is shown, never obeyed."""

from __future__ import annotations

import os
import unicodedata
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

UNKNOWN_WIDTH = 160
"""Columns where output goes to a file and COLUMNS says nothing."""

_HIDDEN = ("Cc", "Cs", "Zl", "Zp")
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of what follows them."""


def visible(text: str, *, keep: str = "") -> str:
    r"""The text with control characters as escapes, e.g. an escape character as `\x1b`.

    Args:
        text: of any origin.
        keep: control characters that stay as they are, e.g. line ends.
    """
    return "".join(_shown(one) if one not in keep else one for one in text)


def styled(*parts: str | tuple[str, str]) -> Text:
    """Text of parts, each plain or with a style of rich; nothing within them is markup."""
    return Text.assemble(*((visible(p), "") if isinstance(p, str) else (visible(p[0]), p[1]) for p in parts))


class PlainConsole(Console):
    """A rich console that shows every string as it is: no markup, no emoji names, no control characters.

    Where it is no terminal it is as wide as COLUMNS says, else wide.

    Args:
        options: of rich's Console, e.g. `stderr` or `file`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, "highlight": False, **options})
        if not self.is_terminal and "width" not in options and not os.environ.get("COLUMNS", "").isdecimal():
            self.width = UNKNOWN_WIDTH

    def render_str(self, text: str, **options: Any) -> Text:
        """Rich's hook for each string that is printed, in a table or alone."""
        return super().render_str(visible(text, keep="\n"), **options)


def file_console(file: TextIO) -> PlainConsole:
    """A console on a stream that does not wrap lines by itself."""
    return PlainConsole(file=file, soft_wrap=True)


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN and character not in _TURNING:
        return character
    return character.encode("unicode_escape").decode("ascii")
