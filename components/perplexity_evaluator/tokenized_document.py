"""TokenizedDocument: a held-out document as a package's own tokenizer sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from components.perplexity_evaluator.held_out_document import HeldOutDocument
from models.contract.errors import PackageError
from models.contract.segment import Segment

_DOCUMENTS_PER_CALL = 16


@dataclass(frozen=True, slots=True)
class TokenizedDocument:
    """A document's ids.

    Args:
        key: of the document.
        source: part of the corpus it comes from.
        ids: its tokens.
        learned: of a conversation, which of them belong to answers; None for plain text.
    """

    key: str
    source: str
    ids: Sequence[int]
    learned: Sequence[bool] | None = None


class Tokenizer(Protocol):
    """What a LocalRunner offers of it."""

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""

    def tokenize_segments(self, prompts: Sequence[Sequence[str | int]]) -> list[list[int]]:
        """Ids of prompts made of text and ids of special tokens."""


def tokenized(
    documents: Sequence[HeldOutDocument], tokenizer: Tokenizer, token_bytes: Sequence[bytes]
) -> Iterator[TokenizedDocument]:
    """The documents in their order, a few per call of the model.

    Args:
        documents: texts and conversations.
        tokenizer: of the package.
        token_bytes: bytes of each id; a special token has those of its content.

    Raises:
        PackageError: a conversation has a special token that the package lacks.
    """
    known = {content: index for index, content in enumerate(token_bytes)}
    for start in range(0, len(documents), _DOCUMENTS_PER_CALL):
        part = documents[start : start + _DOCUMENTS_PER_CALL]
        texts = iter(tokenizer.tokenize([d.text.decode("utf-8") for d in part if not d.segments]))
        segments = [segment for document in part for segment in document.segments]
        pieces = iter(tokenizer.tokenize_segments([[_piece(segment, known)] for segment in segments]))
        for document in part:
            if document.segments:
                yield _conversation(document, [next(pieces) for _ in document.segments])
            else:
                yield TokenizedDocument(document.key, document.source, next(texts))


def _conversation(document: HeldOutDocument, pieces: Sequence[Sequence[int]]) -> TokenizedDocument:
    ids = [index for piece in pieces for index in piece]
    learned = [
        segment.learned
        for segment, piece in zip(document.segments, pieces, strict=True)
        for _ in range(len(piece))
    ]
    return TokenizedDocument(document.key, document.source, ids, learned)


def _piece(segment: Segment, known: dict[bytes, int]) -> str | int:
    if not segment.special:
        return segment.text
    index = known.get(segment.text.encode("utf-8"))
    if index is None:
        raise PackageError(
            f"held-out conversations hold the special token {segment.text!r}, which the package's tokenizer "
            "does not have.",
            field="corpus",
            remedy="Evaluate on a corpus rendered with this model's own chat template: run the pipeline.",
        )
    return index
