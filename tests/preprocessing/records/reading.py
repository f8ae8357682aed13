"""Corpus files of one row format, read by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from preprocessing.corpus_files import CorpusFile, list_files
from preprocessing.corpus_source import CorpusSource
from preprocessing.records.bad_row import BadRow
from preprocessing.records.read_records import read_records
from preprocessing.records.read_settings import ReadSettings
from preprocessing.records.record import Record


def listed(path: Path, **options: Any) -> tuple[CorpusFile, CorpusSource]:
    source = CorpusSource(name="s", path=str(path), **options)
    (file,) = list_files([source])
    return file, source


def read(
    path: Path, *, row_limit: int = 4096, limit: int = 4096, template: str | None = None, **options: Any
) -> list[Record | BadRow]:
    """All of a file, with the options of its source."""
    file, source = listed(path, **options)
    return list(read_records(file, ReadSettings(source, limit, row_limit, template)))


def texts(found: list[Record | BadRow]) -> list[tuple[int, str]]:
    return [(one.row, one.text.decode()) for one in found if isinstance(one, Record)]


def faults(found: list[Record | BadRow]) -> list[tuple[int, str]]:
    return [(one.row, one.reason) for one in found if isinstance(one, BadRow)]
