"""SpecialGuard: keeps what people wrote apart from the special tokens of a chat template."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from models.contract.errors import CheckpointError, InvalidInputError

ANSWER_BEGIN, ANSWER_END = "\ufdd0", "\ufdd1"
"""Stand in a rendered text where a `{% generation %}` block begins and ends."""

_STAND_INS = [chr(point) for point in range(0xFDD2, 0xFDF0)] + [
    chr(plane + low) for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF)
]
_UNFIT = re.compile(f"[\ud800-\udfff{ANSWER_BEGIN}{ANSWER_END}{''.join(_STAND_INS)}]")


class SpecialGuard:
    """Hides special tokens that stand in a message from whoever looks for them in the rendered text.

    The first character of each is replaced by a Unicode noncharacter, one that is set aside for a
    program's internal use, and put back later: a template may cut, trim and compare the text meanwhile,
    and it keeps its length.

    Args:
        specials: contents of the special tokens.

    Raises:
        CheckpointError: they begin with more different characters than there are stand-ins.
    """

    def __init__(self, specials: Iterable[str]) -> None:
        contents = sorted({content for content in specials if content}, key=len, reverse=True)
        first = sorted({content[0] for content in contents})
        if len(first) > len(_STAND_INS):
            raise CheckpointError(
                f"special tokens begin with {len(first)} different characters; at most {len(_STAND_INS)} "
                "can be told apart in a chat template."
            )
        either = "|".join(map(re.escape, contents)) or r"(?!)"
        self._special = re.compile(either)
        self._begin = re.compile(f"(?={either})(.)", re.DOTALL)
        self._hidden = dict(zip(first, _STAND_INS, strict=False))
        self._shown = {ord(stand_in): letter for letter, stand_in in self._hidden.items()}

    def hide(self, value: Any, field: str) -> Any:
        """A copy of JSON-like data with the special tokens of all its strings hidden.

        Raises:
            InvalidInputError: a string cannot be UTF-8 or holds a noncharacter, or a value is of no JSON
                type; the message names its place.
        """
        if isinstance(value, str):
            return self._hide_text(value, field)
        if isinstance(value, dict):
            return {
                self.hide(str(key), field): self.hide(item, f"{field}.{key}") for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.hide(item, f"{field}[{index}]") for index, item in enumerate(value)]
        if value is None or isinstance(value, bool | int | float):
            return value
        raise InvalidInputError(f"{field} is {type(value).__name__}, not a JSON value.", field=field)

    def show(self, text: str) -> str:
        """The text with what was hidden put back."""
        return text.translate(self._shown)

    def find(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each special token that is not hidden, leftmost and longest first."""
        return [match.span() for match in self._special.finditer(text)]

    def _hide_text(self, text: str, field: str) -> str:
        unfit = _UNFIT.search(text)
        if unfit:
            raise InvalidInputError(
                f"{field} holds U+{ord(unfit[0]):04X} at character {unfit.start()}, which is no text: half "
                "of a surrogate pair or a noncharacter.",
                field=field,
                remedy="Remove it.",
            )
        return self._begin.sub(lambda match: self._hidden[match[1]], text)
