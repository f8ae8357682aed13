"""A check that the options of a corpus source fit the files it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from models.contract.errors import DataError
from preprocessing.corpus_format import detect_format
from preprocessing.corpus_source import FIELDS, CorpusSource


def check_options(source: CorpusSource, files: Iterable[tuple[str, str]]) -> None:
    """Refuse options that none of the files can use, and files that the format cannot be told of.

    Args:
        source: any.
        files: location and format of each.

    Raises:
        DataError: names the option or the file, and what to set instead.
    """
    formats = set()
    for location, file_format in files:
        formats.add(file_format)
        if source.format == "auto" and location.lower().removesuffix(".gz").endswith(".json"):
            _refuse(
                source,
                f"{location} is JSON, whose rows cannot be told from its name",
                "Set `format: jsonl` if each line is an object, `format: text` to train on the file as it is "
                "written, or leave it out: `exclude: ['**/*.json']`.",
            )
        if file_format == "chat" and detect_format(location) in ("csv", "tfrecord"):
            _refuse(
                source,
                f"{location} is {detect_format(location)}, and `format: chat` reads JSON Lines and Parquet",
                "Convert it, or leave it out with `exclude`.",
            )
    for name in FIELDS:
        if getattr(source, name) is not None and formats == {"text"}:
            _refuse(source, f"`{name}` is set, but all its files are texts without fields", _BY_FORMAT)
    if source.delimiter is not None and "csv" not in formats:
        _refuse(source, "`delimiter` is set, but none of its files is CSV", _BY_FORMAT)


_BY_FORMAT = "Remove it, or name the files' `format`; by default their suffix tells it."


def _refuse(source: CorpusSource, why: str, remedy: str) -> NoReturn:
    raise DataError(f"corpus source {source.name!r}: {why}.", field="corpus.sources", remedy=remedy)
