"""Any corpus file as a stream of records."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from models.contract.chat_messages import said
from models.contract.chat_template import ChatTemplate
from models.contract.errors import ConfigError, DataError, InvalidInputError
from preprocessing.corpus_files import CorpusFile
from preprocessing.corpus_format import default_delimiter, detect_format, is_gzip
from preprocessing.records.bad_row import BadRow
from preprocessing.records.csv_reader import read_csv
from preprocessing.records.jsonl_reader import read_jsonl
from preprocessing.records.read_settings import ReadSettings
from preprocessing.records.record import Record
from preprocessing.records.record_fields import RecordFields, Rendered
from preprocessing.records.text_reader import read_text

_GZIP = b"\x1f\x8b\x08"

_FOREIGN = {
    b"\xff\xfe": "it is UTF-16, to be converted to UTF-8",
    b"\xfe\xff": "it is UTF-16, to be converted to UTF-8",
    b"PK\x03\x04": "it is a zip archive, to be unpacked",
    b"7z\xbc\xaf": "it is a 7z archive, to be unpacked",
    b"\x28\xb5\x2f\xfd": "it is packed by zstd, to be unpacked",
    b"\xfd7zXZ": "it is packed by xz, to be unpacked",
    b"%PDF-": "it is a PDF, to be converted to text",
}
"""How files begin that are no UTF-8 text, though the bytes of some could be read as such."""


def read_records(file: CorpusFile, settings: ReadSettings) -> Iterator[Record | BadRow]:
    """Records and broken rows of a file in its order, one at a time: memory does not follow its size.

    Args:
        file: of any format; one of no bytes has no records (as a text: a blank one).
        settings: of its source.

    Raises:
        DataError: the file cannot be read, is damaged, has changed since it was listed, or is a table
            without a wanted column. Damage may show only after some records.
        ConfigError: it holds conversations, and there is no chat template.
    """
    try:
        _check_unchanged(file)
        if file.size or file.format == "text":
            yield from _open(file, settings)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile) or error.errno is None:
            raise _damaged(file, error) from error
        raise DataError(
            f"corpus file {file.location} cannot be read: {error.strerror}.",
            field=file.location,
            remedy="Give read permission, exclude the file, or run again if it has just been removed.",
        ) from error
    except (EOFError, zlib.error) as error:
        raise _damaged(file, error) from error


def _open(file: CorpusFile, settings: ReadSettings) -> Iterator[Record | BadRow]:
    fields, limit = _fields(file, settings), settings.max_row_bytes
    if file.format == "tfrecord":
        yield from _tfrecord(file, fields, limit)
    elif _is_parquet(file):
        yield from _parquet(file, fields, limit)
    else:
        with _stream(file) as stream:
            fault = _FOREIGN.get(next((sign for sign in _FOREIGN if _begins(stream, sign)), b""))
            if fault is not None and file.format != "text":
                raise _damaged(file, fault)
            if fault is not None:
                yield BadRow(0, "not_utf8", f"not UTF-8 text: {fault}.")
            elif file.format == "text":
                yield from read_text(stream, settings.max_document_bytes)
            elif file.format == "csv":
                delimiter = settings.source.delimiter or default_delimiter(file.location)
                yield from read_csv(stream, fields, delimiter, limit, file.location)
            else:
                yield from read_jsonl(stream, fields, limit)


def _tfrecord(file: CorpusFile, fields: RecordFields, limit: int) -> Iterator[Record | BadRow]:
    # Only here: a process that reads other formats need not load TensorFlow.
    import tensorflow as tf

    from preprocessing.records.tfrecord_reader import read_tfrecord

    try:
        yield from read_tfrecord(file.location, fields, limit, gzip=is_gzip(file.location))
    except tf.errors.OpError as error:
        raise _damaged(file, error.message.splitlines()[0].replace("' failed with", ":")) from error


def _parquet(file: CorpusFile, fields: RecordFields, limit: int) -> Iterator[Record | BadRow]:
    import pyarrow as pa

    from preprocessing.records.parquet_reader import read_parquet

    try:
        with _stream(file) as stream:
            yield from read_parquet(stream, fields, limit, file.location)
    except pa.ArrowException as error:
        raise _damaged(file, error) from error


def _stream(file: CorpusFile) -> BinaryIO:
    stream = Path(file.location).open("rb", buffering=2**20)  # noqa: SIM115
    if not _is_parquet(file) and (is_gzip(file.location) or _begins(stream, _GZIP)):
        stream.close()
        return cast(BinaryIO, gzip.open(file.location, "rb"))
    return stream


def _is_parquet(file: CorpusFile) -> bool:
    return file.format == "parquet" or (file.format == "chat" and detect_format(file.location) == "parquet")


def _begins(stream: BinaryIO, sign: bytes) -> bool:
    """Whether a buffered stream at its beginning goes on with some bytes, which are not taken from it."""
    return cast(io.BufferedReader, stream).peek(len(sign)).startswith(sign)


def _fields(file: CorpusFile, settings: ReadSettings) -> RecordFields:
    source = settings.source
    render = _renderer(source.name, settings.chat_template) if file.format == "chat" else None
    return RecordFields(source.field_of(file.format), source.id_field, source.group_field, render)


def _renderer(source: str, template: str | None) -> Callable[[Sequence[Any]], Rendered]:
    if template is None:
        raise ConfigError(
            f"corpus source {source!r} holds conversations, but the model has no chat template.",
            field="corpus.sources.format",
            remedy="Take a checkpoint whose tokenizer has a chat template, or another format.",
        )
    chat = ChatTemplate.from_json(template)

    def render(messages: Sequence[Any]) -> Rendered:
        segments = chat.render(messages)
        if not any(segment.learned for segment in segments):
            raise InvalidInputError("there is nothing to learn: no message is the assistant's.")
        texts, kinds = zip(*((one.text.encode("utf-8"), one.kind) for one in segments), strict=True)
        return texts, kinds, said(messages).encode("utf-8")

    return render


def _check_unchanged(file: CorpusFile) -> None:
    status = Path(file.location).stat()
    if (status.st_size, status.st_mtime_ns) != (file.size, file.modified):
        raise DataError(
            f"corpus file {file.location} has changed since the run began.",
            field=file.location,
            remedy="Run again when nobody writes to it any more.",
        )


def _damaged(file: CorpusFile, why: object) -> DataError:
    return DataError(
        f"corpus file {file.location} is no whole {file.format} file: {str(why).rstrip('.')}.",
        field=file.location,
        remedy="Restore it, exclude it with a glob, or correct the source's `format`.",
    )
