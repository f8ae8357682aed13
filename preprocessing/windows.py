"""Windows over a document's tokens, so that perplexity is measured with a bounded context. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from models.contract.errors import ConfigError


class Window(NamedTuple):
    """A stretch of a document.

    Args:
        start: first token.
        end: one past the last token.
        score_from: first token to score, relative to `start`; at least 1, since a token needs a
            predecessor.
    """

    start: int
    end: int
    score_from: int

    @property
    def scored(self) -> int:
        """Tokens that are scored here."""
        return self.end - self.start - self.score_from


def windows(num_tokens: int, context: int, stride: int) -> list[Window]:
    """Windows of `context` tokens that start every `stride` tokens.

    A token is scored once, in the first window that holds both it and a predecessor: with
    stride < context all but the document's first, with stride = context all but each window's first.
    Windows that would score nothing are left out.

    Args:
        num_tokens: of the document.
        context: most tokens of a window, at least 2.
        stride: from one start to the next, at least 1 and at most `context`.

    Raises:
        ConfigError: context or stride is out of range.
    """
    _check(context, stride)
    found, seen = [], 0
    for start in range(0, num_tokens, stride):
        end = min(start + context, num_tokens)
        window = Window(start, end, max(1, seen - start))
        if window.scored > 0:
            found.append(window)
        seen = end
        if end == num_tokens:
            break
    return found


def answer_windows(learned: Sequence[bool], context: int, stride: int) -> list[Window]:
    """Windows that score the answers of a conversation, each with as much history as fits before it.

    An answer is scored in one window if it has at most `stride` tokens or the whole conversation up to
    its end fits; else in several, each of which scores `stride` tokens and sees what came before them.
    A conversation's first token is never scored, since it has no predecessor.

    Args:
        learned: which tokens of the conversation belong to answers.
        context: most tokens of a window, at least 2.
        stride: most tokens of a longer answer that a window scores, at least 1 and at most `context`.

    Raises:
        ConfigError: context or stride is out of range.
    """
    _check(context, stride)
    step = min(stride, context - 1)
    found = []
    for begin, end in _runs(learned):
        begin = max(begin, 1)
        if end <= context:
            pieces = [(begin, end)]
        else:
            pieces = [(place, min(place + step, end)) for place in range(begin, end, step)]
        for first, last in pieces:
            start = max(0, last - context)
            found.append(Window(start, last, first - start))
    return [window for window in found if window.scored > 0]


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Begin and end of each stretch of flags that are set."""
    for is_set, run in groupby(range(len(flags)), key=lambda index: bool(flags[index])):
        if is_set:
            places = list(run)
            yield places[0], places[-1] + 1


def _check(context: int, stride: int) -> None:
    if context < 2:
        raise ConfigError(
            f"`context` is {context}; nothing can be scored.", field="context", remedy="Use at least 2."
        )
    if not 1 <= stride <= context:
        raise ConfigError(
            f"`stride` is {stride} at a context of {context}.",
            field="stride",
            remedy="It must be at least 1 and at most the context, or tokens would be left out.",
        )
