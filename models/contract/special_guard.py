"""SpecialGuard: keeps what people wrote apart from the special tokens of a chat template."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from models.contract.errors import CheckpointError, InvalidInputError
from models.contract.guarded_text import GuardedText, guarded_number, shown, stand_ins

ANSWER_BEGIN, ANSWER_END = "\ufdd0", "\ufdd1"
"""Stand in a rendered text where a `{% generation %}` block begins and ends."""

_UNFIT = re.compile(f"[\ud800-\udfff{ANSWER_BEGIN}{ANSWER_END}]")


class SpecialGuard:
    """Hides what people wrote from whoever looks for special tokens in the rendered text.

    Of all data, names of fields too, each character that occurs in a special token is replaced by one
    that stands for it, and put back later. A special token that is found in between has not a single
    character from data, however the template put it together. See `GuardedText` for how templates
    work on such text.

    Args:
        specials: contents of the special tokens.

    Raises:
        CheckpointError: they have more different characters than there are stand-ins.
    """

    def __init__(self, specials: Iterable[str]) -> None:
        contents = sorted({content for content in specials if content}, key=len, reverse=True)
        cased = ("".join([content, content.lower(), content.upper()]) for content in contents)
        letters = {letter for content in cased for letter in content}
        try:
            self._hidden = stand_ins(letters)
        except ValueError as error:
            raise CheckpointError(
                f"special tokens have {len(letters)} different characters; they are too many to be told "
                f"apart in a chat template: {error}."
            ) from error
        self._special = re.compile("|".join(map(re.escape, contents)) or r"(?!)")

    def hide(self, value: Any, field: str) -> Any:
        """A copy of JSON-like data with the letters of special tokens hidden in all its strings.

        Raises:
            InvalidInputError: a string cannot be UTF-8 or holds a mark of answers, or a value is of no
                JSON type; the message names its place.
        """
        if isinstance(value, str):
            return self._hide_text(value, field)
        if isinstance(value, dict):
            return {
                self.hide(str(key), field): self.hide(item, f"{field}.{key}") for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.hide(item, f"{field}[{index}]") for index, item in enumerate(value)]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return guarded_number(value)
        raise InvalidInputError(f"{field} is {type(value).__name__}, not a JSON value.", field=field)

    def show(self, text: str) -> str:
        """The text with what was hidden put back."""
        return shown(text)

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
        return GuardedText(text.translate(self._hidden), text)
