"""What two texts have in common and where they differ, word by word. Pure."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

_WORDS = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
"""A line's end is a word of its own: indentation may differ where line ends do not."""


class Piece(NamedTuple):
    """A stretch of text.

    Args:
        text: never empty.
        differs: whether the other text lacks it here.
    """

    text: str
    differs: bool


def differences(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces; the joined pieces of each are the text.

    Source: the longest matching blocks of Ratcliff and Obershelp, as in `difflib`.

    Args:
        before: one text.
        after: the other.
    """
    first, second = _WORDS.findall(before), _WORDS.findall(after)
    ours: list[Piece] = []
    theirs: list[Piece] = []
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        for pieces, words in ((ours, first[a:b]), (theirs, second[c:d])):
            if words:
                pieces.append(Piece("".join(words), kind != "equal"))
    return ours, theirs
