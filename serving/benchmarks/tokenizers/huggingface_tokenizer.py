"""HuggingFaceTokenizer: the reference, in Rust."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class HuggingFaceTokenizer:
    """Hugging Face tokenizers' `encode_batch_fast`; RAYON_NUM_THREADS says on how many threads.

    Args:
        path: tokenizer.json.
    """

    name = "tokenizers"

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.encode_special_tokens = True

    def prepare(self, texts: Sequence[bytes]) -> list[str]:
        """Decoded texts."""
        return [text.decode("utf-8", "replace") for text in texts]

    def encode(self, prepared: list[str]) -> list[Any]:
        """Encodings; that their ids become Python lists is not timed."""
        return self._tokenizer.encode_batch_fast(prepared, add_special_tokens=False)

    def ids(self, encoded: list[Any]) -> list[list[int]]:
        """Lists of ids."""
        return [encoding.ids for encoding in encoded]
