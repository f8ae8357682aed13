"""What the files of a corpus hold: one of six formats, told by the configuration or by the name."""

from __future__ import annotations

import re
from typing import Literal, get_args

FileFormat = Literal["text", "jsonl", "chat", "csv", "parquet", "tfrecord"]
FORMATS: tuple[str, ...] = get_args(FileFormat)

_BY_SUFFIX: tuple[tuple[str, FileFormat], ...] = (
    (r"\.(jsonl|ndjson)$", "jsonl"),
    (r"\.(csv|tsv)$", "csv"),
    (r"\.(parquet|pq)$", "parquet"),
    # TFX writes data_tfrecord-00000-of-00001.gz.
    (r"[._]tfrecords?(-\d+-of-\d+)?$", "tfrecord"),
)


def is_gzip(path: str) -> bool:
    """Whether a file is unpacked while it is read, told by its name."""
    return path.lower().endswith(".gz")


def detect_format(path: str) -> FileFormat:
    """The format that a file's name tells; `text` for every unknown suffix and for none.

    Chat is never guessed: its files are called as any other JSON Lines.
    """
    name = path.lower().removesuffix(".gz")
    return next((found for pattern, found in _BY_SUFFIX if re.search(pattern, name)), "text")


def default_delimiter(path: str) -> str:
    """What separates the columns of a CSV file of this name."""
    return "\t" if path.lower().removesuffix(".gz").endswith(".tsv") else ","
