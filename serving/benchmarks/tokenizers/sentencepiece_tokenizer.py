"""SentencepieceTokenizer: the sentencepiece library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class SentencepieceTokenizer:
    """sentencepiece's `encode`.

    Args:
        path: .model file.
        threads: of computation.
    """

    name = "sentencepiece"

    def __init__(self, path: Path, threads: int) -> None:
        from sentencepiece import SentencePieceProcessor

        self._model = SentencePieceProcessor(model_file=str(path))
        self._threads = threads

    def prepare(self, texts: Sequence[bytes]) -> list[str]:
        """Decoded texts."""
        return [text.decode("utf-8", "replace") for text in texts]

    def encode(self, prepared: list[str]) -> list[list[int]]:
        """Ids of each text."""
        return self._model.encode(prepared, num_threads=self._threads)

    def ids(self, encoded: list[list[int]]) -> list[list[int]]:
        """As they are."""
        return encoded
