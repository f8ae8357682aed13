"""ReadSettings: how the files of a source are read."""

from __future__ import annotations

from dataclasses import dataclass

from preprocessing.corpus_source import CorpusSource


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """What a reader needs besides the file; can be pickled.

    Args:
        source: names the fields and the delimiter.
        max_document_bytes: a longer text file is cut into documents of at most this size.
        max_row_bytes: a longer row is broken.
        chat_template: `ChatTemplate.to_json()`, or None where no source is chat.
    """

    source: CorpusSource
    max_document_bytes: int
    max_row_bytes: int
    chat_template: str | None = None
