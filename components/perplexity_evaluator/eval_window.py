"""EvalWindow: one window of held-out ids, scored by candidate and baseline alike."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from preprocessing.windows import windows

_LENGTH_CLASSES = ((512, "up to 512 tokens"), (2048, "513 to 2,048 tokens"))
_LONGEST = "more than 2,048 tokens"


@dataclass(frozen=True, slots=True)
class EvalWindow:
    """A window.

    Args:
        ids: its tokens.
        score_from: the first token that is scored here, relative to the window; at least 1.
        scored_bytes: bytes of text that its scored tokens stand for.
        document: key of its document.
        source: part of the corpus its document comes from.
        length_class: length of its document, in words.
    """

    ids: tuple[int, ...]
    score_from: int
    scored_bytes: int
    document: str
    source: str
    length_class: str

    @property
    def scored(self) -> int:
        """Tokens that are scored: those from `score_from` on."""
        return len(self.ids) - self.score_from


def length_class(tokens: int) -> str:
    """Class of a document of so many tokens."""
    return next((name for limit, name in _LENGTH_CLASSES if tokens <= limit), _LONGEST)


def choose_windows(
    documents: Sequence[tuple[str, str, Sequence[int]]],
    *,
    context: int,
    stride: int,
    num_tokens: int,
    token_bytes: Sequence[bytes],
) -> list[EvalWindow]:
    """A fixed sample of windows over all documents, until `num_tokens` tokens are scored.

    Every window of every document has a place in an order made of hashes, so the sample depends on
    the text alone, spreads over documents and over positions within them, and grows by appending.

    Args:
        documents: (key, source, ids) of each.
        context: tokens per window.
        stride: tokens between window starts.
        num_tokens: tokens to score at least, if there are as many.
        token_bytes: bytes of each id.
    """
    ranked = sorted(
        (_rank(key, window.start), key, index, window)
        for index, (key, _, ids) in enumerate(documents)
        for window in windows(len(ids), context, stride)
    )
    chosen: list[EvalWindow] = []
    scored = 0
    for _, key, index, window in ranked:
        if scored >= num_tokens:
            break
        _, source, ids = documents[index]
        part = tuple(ids[window.start : window.end])
        num_bytes = sum(len(token_bytes[i]) for i in part[window.score_from :])
        chosen.append(EvalWindow(part, window.score_from, num_bytes, key, source, length_class(len(ids))))
        scored += window.scored
    return chosen


def fingerprint(chosen: Sequence[EvalWindow]) -> str:
    """Sha256 over the windows' ids and the positions scored."""
    digest = hashlib.sha256()
    for window in chosen:
        digest.update(repr((window.score_from, window.ids)).encode())
    return digest.hexdigest()


def _rank(key: str, start: int) -> str:
    return hashlib.sha256(f"{key}:{start}".encode()).hexdigest()
