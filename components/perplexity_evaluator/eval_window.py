"""EvalWindow: one window of held-out ids, scored by candidate and baseline alike."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from components.perplexity_evaluator.tokenized_document import TokenizedDocument
from preprocessing.windows import Window, answer_windows, windows

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
        answer_from: of a conversation, the token at which the answer begins that the window scores; None
            for plain text and where a long answer goes on.
    """

    ids: tuple[int, ...]
    score_from: int
    scored_bytes: int
    document: str
    source: str
    length_class: str
    answer_from: int | None = None

    @property
    def scored(self) -> int:
        """Tokens that are scored: those from `score_from` on."""
        return len(self.ids) - self.score_from


def length_class(tokens: int) -> str:
    """Class of a document of so many tokens."""
    return next((name for limit, name in _LENGTH_CLASSES if tokens <= limit), _LONGEST)


def choose_windows(
    documents: Sequence[TokenizedDocument],
    *,
    context: int,
    stride: int,
    num_tokens: int,
    token_bytes: Sequence[bytes],
) -> list[EvalWindow]:
    """A fixed sample of windows over all documents, until `num_tokens` tokens are scored.

    Every window of every document has a place in an order made of hashes, so the sample depends on
    the text alone, spreads over documents and over positions within them, and grows by appending. Of
    conversations the answers are scored, of plain text all tokens.

    Args:
        documents: all of them.
        context: tokens per window.
        stride: tokens between window starts; of a long answer, tokens that a window scores.
        num_tokens: tokens to score at least, if there are as many.
        token_bytes: bytes of each id.
    """
    ranked = sorted(
        (_rank(document, window), document.key, index, window)
        for index, document in enumerate(documents)
        for window in _windows(document, context, stride)
    )
    chosen: list[EvalWindow] = []
    scored = 0
    for *_, index, window in ranked:
        if scored >= num_tokens:
            break
        chosen.append(_eval_window(documents[index], window, token_bytes))
        scored += window.scored
    return chosen


def _windows(document: TokenizedDocument, context: int, stride: int) -> list[Window]:
    if document.learned is None:
        return windows(len(document.ids), context, stride)
    return answer_windows(document.learned, context, stride)


def _eval_window(document: TokenizedDocument, window: Window, token_bytes: Sequence[bytes]) -> EvalWindow:
    ids = tuple(document.ids[window.start : window.end])
    first = window.start + window.score_from
    begins = document.learned is not None and not document.learned[first - 1]
    return EvalWindow(
        ids,
        window.score_from,
        sum(len(token_bytes[index]) for index in ids[window.score_from :]),
        document.key,
        document.source,
        length_class(len(document.ids)),
        window.score_from if begins else None,
    )


def fingerprint(chosen: Sequence[EvalWindow]) -> str:
    """Sha256 over the windows' ids and the positions scored."""
    digest = hashlib.sha256()
    for window in chosen:
        digest.update(repr((window.score_from, window.ids)).encode())
    return digest.hexdigest()


def _rank(document: TokenizedDocument, window: Window) -> str:
    # Windows of a conversation may all start with it: what tells them apart is what they score.
    place = window.start if document.learned is None else window.start + window.score_from
    return hashlib.sha256(f"{document.key}:{place}".encode()).hexdigest()
