"""IncrementalDetokenizer: the text of one answer as its ids arrive."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence


class IncrementalDetokenizer:
    """Turns ids into text that never has to be taken back.

    A token may end within a character; such bytes are held back until the rest arrives. The texts
    returned, joined, are the bytes of all ids decoded with errors="replace".

    Args:
        vocab: bytes of ids 0 … n − 1; an id outside has no text, as a model's table of embeddings
            may be longer than its vocabulary.
    """

    def __init__(self, vocab: Sequence[bytes]) -> None:
        self._vocab = vocab
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def append(self, ids: Iterable[int]) -> str:
        """Take new ids; return the text that is certain now and was not before, "" if none is."""
        size = len(self._vocab)
        return self._decoder.decode(b"".join(self._vocab[index] for index in ids if 0 <= index < size))

    def finish(self) -> str:
        """The text of the bytes still held back; the answer ends here."""
        return self._decoder.decode(b"", final=True)
