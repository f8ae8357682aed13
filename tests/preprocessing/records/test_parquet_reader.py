from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.contract.errors import DataError
from preprocessing.records.record import Record
from tests.preprocessing.records.reading import faults, read, texts


def write(folder: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "a.parquet", **options)
    return folder / "a.parquet"


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
)
def test_rows_are_documents_whatever_kind_of_text_they_are(tmp_path, kind):
    path = write(tmp_path, {"n": [1, 2, 3], "text": pa.array(["a", "ä🎉", "a"], kind)}, row_group_size=2)
    assert texts(read(path)) == [(1, "a"), (2, "ä🎉"), (3, "a")]


def test_a_table_without_rows_and_a_file_without_bytes_have_no_records(tmp_path):
    assert read(write(tmp_path, {"text": pa.array([], pa.string())})) == []
    (tmp_path / "b.parquet").write_bytes(b"")
    assert read(tmp_path / "b.parquet") == []


def test_broken_rows_are_told_and_the_next_is_read(tmp_path):
    raw = pa.array([b"a", None, b"\xff", b"x" * 5000, b"b"], pa.binary())
    found = read(write(tmp_path, {"text": raw}))
    assert texts(found) == [(1, "a"), (5, "b")]
    assert faults(found) == [(2, "missing_field"), (3, "not_utf8"), (4, "too_long")]


def test_strings_that_are_not_utf8_are_found_though_the_file_calls_them_strings(tmp_path):
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"], pa.binary()).buffers())
    assert faults(read(write(tmp_path, {"text": broken}))) == [(2, "not_utf8")]


def test_ids_may_be_numbers(tmp_path):
    path = write(tmp_path, {"text": ["a", "b"], "id": pa.array([7, None]), "who": ["x", "y"]})
    found = read(path, id_field="id", group_field="who")
    assert found[0] == Record(1, b"a", group="x", identifier="7")
    assert faults(found) == [(2, "missing_field")]


def test_a_missing_column_and_one_of_another_type_are_named(tmp_path):
    path = write(tmp_path, {"content": ["a"], "number": [1.5]})
    with pytest.raises(DataError, match=r"no column 'text'; its columns are \['content', 'number'\]"):
        read(path)
    with pytest.raises(DataError, match=r"column 'number' holds double, not texts"):
        read(path, text_field="number")


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: b"PAR1 and nothing else"])
def test_a_damaged_file_is_refused_by_name(tmp_path, damage):
    path = write(tmp_path, {"text": ["a"] * 100})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"a\.parquet is no whole parquet file"):
        read(path)
