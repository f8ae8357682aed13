"""Windows over a document's tokens, so that perplexity is measured with a bounded context. Pure."""

from __future__ import annotations

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
