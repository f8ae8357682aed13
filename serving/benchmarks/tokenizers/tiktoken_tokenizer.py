"""TiktokenTokenizer: tiktoken with the vocabulary of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from unicodedata import normalize


class TiktokenTokenizer:
    """tiktoken's `encode_ordinary_batch`.

    Args:
        pattern: of its words, in its own regex language.
        ranks: bytes of each token → rank, the most urgent lowest; all 256 bytes are there.
        ids: rank → id; −1 for a byte that the vocabulary lacks.
        nfc: texts are brought into normal form C first, by Python, within the timed step.
        threads: of computation.
    """

    name = "tiktoken"

    def __init__(
        self, pattern: str, ranks: dict[bytes, int], ids: Mapping[int, int], nfc: bool, threads: int
    ) -> None:
        from tiktoken import Encoding

        self._encoding = Encoding(self.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self._ids = ids
        self._nfc = nfc
        self._threads = threads

    def prepare(self, texts: Sequence[bytes]) -> list[str]:
        """Decoded texts."""
        return [text.decode("utf-8", "replace") for text in texts]

    def encode(self, prepared: list[str]) -> list[list[int]]:
        """Ranks of each text."""
        if self._nfc:
            prepared = [normalize("NFC", text) for text in prepared]
        return self._encoding.encode_ordinary_batch(prepared, num_threads=self._threads)

    def ids(self, encoded: list[list[int]]) -> list[list[int]]:
        """Ranks as the vocabulary's ids; bytes it lacks are dropped."""
        rows = ([self._ids[rank] for rank in row] for row in encoded)
        return [[index for index in row if index >= 0] for row in rows]
