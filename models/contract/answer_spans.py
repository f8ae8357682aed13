"""Where the answers lie in a rendered conversation. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.contract.errors import InvalidInputError
from models.contract.special_guard import ANSWER_BEGIN, ANSWER_END

Span = tuple[int, int]
"""Begin and end of a part of a text, in characters."""

_MARK = re.compile(f"[{ANSWER_BEGIN}{ANSWER_END}]")


def unmarked(text: str) -> tuple[str, list[Span]]:
    """A rendered text without the marks of `{% generation %}` blocks, and where these blocks lay."""
    plain, spans, begin = [], [], 0
    length = place = 0
    for match in _MARK.finditer(text):
        plain.append(text[place : match.start()])
        length += match.start() - place
        place = match.end()
        if match[0] == ANSWER_BEGIN:
            begin = length
        else:
            spans.append((begin, length))
    return "".join([*plain, text[place:]]), spans


def with_end_marks(spans: Sequence[Span], specials: Sequence[Span]) -> list[Span]:
    """Each span with the special token right behind it, unless it ends with one."""
    ends = dict(specials)
    last = set(ends.values())
    return [(begin, end if end in last else ends.get(end, end)) for begin, end in spans]


def answer_spans(
    messages: Sequence[Mapping[str, Any]],
    text: str,
    specials: Sequence[Span],
    text_of: Callable[[int, bool], str],
    find: Callable[[str], list[Span]],
) -> list[Span]:
    """Where each assistant's message lies in a conversation, with the special token that ends it.

    Args:
        messages: all of them.
        text: the conversation as rendered.
        specials: where its special tokens lie.
        text_of: the first so many messages as rendered, with or without the beginning of an answer.
        find: finds the special tokens of a text.

    Raises:
        InvalidInputError: an answer cannot be found for certain.
    """
    found: list[Span] = []
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            turn = _Turn(messages, index, text, specials, text_of, find)
            found.append(turn.span(found[-1][1] if found else 0))
    return found


class _Turn:
    """One assistant's message; arguments as of `answer_spans`."""

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]],
        index: int,
        text: str,
        specials: Sequence[Span],
        text_of: Callable[[int, bool], str],
        find: Callable[[str], list[Span]],
    ) -> None:
        self._messages, self._index = messages, index
        self._text, self._specials = text, specials
        self._content = str(messages[index].get("content", "")).strip()
        self._prompt = _rendered(text_of, index, True)
        self._whole = _rendered(text_of, index + 1, False)
        before = _rendered(text_of, index, False)
        self._header = self._prompt.removeprefix(before) if self._prompt.startswith(before) else ""
        self._find = find

    def span(self, after: int) -> Span:
        """Begin and end; not before `after`, the end of the answer before it."""
        known = bool(self._whole) and self._text.startswith(self._whole)
        stop = len(self._whole) if known else None
        if self._prompt and self._text.startswith(self._prompt):
            begin = len(self._prompt)
        else:
            begin = self._place(max(after, self._common(self._prompt)), stop)
        return begin, self._end(begin, stop)

    def _place(self, after: int, stop: int | None) -> int:
        """Where the content stands last in a turn whose prompt is not the conversation's beginning."""
        marks = [begin for begin, end in self._specials if after <= begin and end <= (stop or 0)]
        place = -1 if stop is None else self._text.rfind(self._content, after, marks[-1] if marks else stop)
        if place < 0:
            raise self._lost()
        # What a template puts between the prompt and the content is learned wherever it stands.
        header = self._text.rfind(self._header, after, place) if self._header else -1
        return place if header < 0 else header + len(self._header)

    def _end(self, begin: int, stop: int | None) -> int:
        """Where an answer ends, given where its turn does if that is known."""
        end = self._content_end(begin)
        mark = None if end is None else self._mark_behind(end, stop)
        if mark is not None:
            return mark
        if stop is not None:
            marks = [end for first, end in self._specials if begin <= first and end <= stop]
            return marks[-1] if marks else stop
        return self._later_mark(begin) if end is None else end

    def _content_end(self, begin: int) -> int | None:
        """End of the content if it stands at `begin` as it is, and nothing but it belongs to the answer."""
        place = self._text.find(self._content, begin)
        alone = place >= 0 and not self._text[begin:place].strip()
        calls = self._messages[self._index].get("tool_calls")
        return place + len(self._content) if alone and not calls else None

    def _mark_behind(self, place: int, stop: int | None) -> int | None:
        """End of the special token that follows in the same turn, after white space at most."""
        begin, end = next((span for span in self._specials if span[0] >= place), (-1, -1))
        if begin < 0 or self._text[place:begin].strip() or (stop is not None and end > stop):
            return None
        return end

    def _later_mark(self, begin: int) -> int:
        """End of an answer that the whole conversation shows in another way than its beginning does."""
        marks = self._find(self._whole)
        mark = self._whole[slice(*marks[-1])] if marks else ""
        place = self._text.find(mark, begin) if mark else -1
        if place < 0 or not self._next_comes_after(place):
            raise self._lost()
        return place + len(mark)

    def _next_comes_after(self, place: int) -> bool:
        """Whether the message that follows is found behind `place`: no mark of a later turn was taken."""
        following = self._messages[self._index + 1 : self._index + 2]
        return all(self._text.find(str(m.get("content", "")).strip(), place) >= 0 for m in following)

    def _common(self, other: str) -> int:
        pairs = enumerate(zip(self._text, other, strict=False))
        return next((place for place, (a, b) in pairs if a != b), min(len(self._text), len(other)))

    def _lost(self) -> InvalidInputError:
        return InvalidInputError(
            f"messages[{self._index}]: the chat template does not show where this answer begins and ends.",
            field=f"messages[{self._index}]",
            remedy="Put `{% generation %}` and `{% endgeneration %}` around answers in the chat template.",
        )


def _rendered(text_of: Callable[[int, bool], str], count: int, prompt: bool) -> str:
    """A part of a conversation as rendered, or nothing if the template refuses it."""
    try:
        return text_of(count, prompt)
    except InvalidInputError:
        return ""
