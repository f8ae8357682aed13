"""Parquet, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from models.contract.errors import DataError
from preprocessing.records.bad_row import BadRow
from preprocessing.records.record import Record
from preprocessing.records.record_fields import RecordFields
from preprocessing.records.wanted_columns import check_columns

_BATCH_BYTES = 4 * 2**20
_BUFFER = 2**20


def read_parquet(stream: BinaryIO, fields: RecordFields, limit: int, name: str) -> Iterator[Record | BadRow]:
    """Records of a Parquet file.

    Only the wanted columns are read, through a buffer: row groups may be larger than memory.

    Args:
        stream: seekable.
        fields: which columns to read.
        limit: longest text in bytes; a longer one is a broken row.
        name: of the file, for messages.

    Raises:
        DataError: a wanted column is missing or of a type that holds no text.
        pyarrow.ArrowException: the file is damaged.
    """
    file = pq.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
    schema = file.schema_arrow
    check_columns(schema.names, fields.names, f"Parquet file {name}")
    for column in fields.names:
        _check_type(schema.field(column), fields, name)
    row = 0
    for batch in file.iter_batches(_rows_per_batch(file.metadata), columns=list(fields.names)):
        columns = {column: _plain(batch.column(column)) for column in fields.names}
        for index in range(batch.num_rows):
            row += 1
            size = columns[fields.text].slice(index, 1).nbytes if fields.render else 0
            if size > limit:
                yield BadRow(row, "too_long", f"the messages have {size} bytes, more than {limit}.", "")
                continue
            try:
                values = {column: cells[index].as_py() for column, cells in columns.items()}
            except UnicodeDecodeError as error:
                yield BadRow(row, "not_utf8", f"a message is not UTF-8 at its byte {error.start}.", "")
            else:
                yield _record(row, values, fields, limit)


def _record(row: int, values: dict[str, object], fields: RecordFields, limit: int) -> Record | BadRow:
    text = values[fields.text]
    if isinstance(text, bytes) and len(text) > limit:
        return BadRow(row, "too_long", f"the text has {len(text)} bytes, more than {limit}.", "")
    shown = {name: value[:400] if isinstance(value, bytes) else value for name, value in values.items()}
    return fields.record(row, values, str(shown))


def _rows_per_batch(metadata: pq.FileMetaData) -> int:
    """So many that a batch of average rows has some megabytes."""
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=1)
    return int(min(max(_BATCH_BYTES // max(widest, 1), 1), 4096))


def _check_type(field: pa.Field, fields: RecordFields, name: str) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if field.name == fields.text and fields.render is not None:
        fits, wanted = pa.types.is_list(kind) or pa.types.is_large_list(kind), "lists of messages"
    else:
        fits, wanted = _is_text(kind), "texts"
        if field.name != fields.text:
            fits, wanted = fits or pa.types.is_integer(kind), "texts or whole numbers"
    if not fits:
        raise DataError(
            f"Parquet file {name}: column {field.name!r} holds {kind}, not {wanted}.",
            field=field.name,
            remedy="Name another column in the source's `text_field`, `id_field` or `group_field`.",
        )


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _plain(column: pa.Array) -> pa.Array:
    """Texts as bytes: Arrow does not check that a file's strings are UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        return column.cast(pa.binary())
    return column.cast(pa.large_binary()) if pa.types.is_large_string(column.type) else column
