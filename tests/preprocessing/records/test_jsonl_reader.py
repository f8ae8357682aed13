from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import DataError
from preprocessing.records.bad_row import BadRow
from preprocessing.records.record import Record
from tests.preprocessing.records.reading import faults, read, texts


def write(folder: Path, *lines: str | bytes | dict, name: str = "a.jsonl") -> Path:
    encoded = [json.dumps(x) if isinstance(x, dict) else x for x in lines]
    raw = [x if isinstance(x, bytes) else x.encode() for x in encoded]
    (folder / name).write_bytes(b"".join(line + b"\n" for line in raw))
    return folder / name


def test_a_line_is_a_document_with_its_number_and_empty_lines_are_passed_over(tmp_path):
    path = write(tmp_path, {"text": "Käse 🎉\n"}, "", {"more": [1], "text": "b"})
    assert texts(read(path)) == [(1, "Käse 🎉\n"), (3, "b")]


def test_the_last_line_needs_no_end_and_a_byte_order_mark_is_no_part_of_the_first(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}')
    assert texts(read(path)) == [(1, "a"), (2, "b")]


def test_an_empty_file_has_no_records(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    assert read(tmp_path / "a.jsonl") == []


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        ('{"text": "a"', "not_json", "the line is not JSON"),
        ("[1, 2]", "not_object", "holds no object"),
        (b'{"text": "\xff"}', "not_utf8", "not UTF-8 at its byte 10"),
        ('{"txt": "a"}', "missing_field", "no field 'text'; the row has 'txt'"),
        ('{"text": null}', "missing_field", "field 'text' is null"),
        ('{"text": 5}', "wrong_type", "field 'text' is a number, not a text"),
        ('{"text": ["a"]}', "wrong_type", "is a list"),
        ('{"text": true}', "wrong_type", "is true or false"),
        ('{"text": "\\ud800"}', "not_json", "surrogate"),
    ],
)
def test_a_broken_row_is_told_by_number_reason_and_beginning_and_the_next_is_read(
    tmp_path, line, reason, detail
):
    found = read(write(tmp_path, {"text": "a"}, line, {"text": "b"}))
    assert texts(found) == [(1, "a"), (3, "b")]
    (bad,) = [one for one in found if isinstance(one, BadRow)]
    assert (bad.row, bad.reason) == (2, reason)
    assert detail in bad.detail
    assert bad.raw == (line.encode() if isinstance(line, str) else line).decode("utf-8", "backslashreplace")


def test_a_file_in_another_encoding_is_refused_once(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "ä"}\n{"text": "b"}\n', encoding="utf-16")
    with pytest.raises(DataError, match="it is UTF-16, to be converted to UTF-8"):
        read(tmp_path / "a.jsonl")


def test_a_packed_file_is_known_by_its_content(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(b'{"text": "a"}\n'))
    assert texts(read(tmp_path / "a.jsonl")) == [(1, "a")]


def test_ids_of_more_than_64_bits_are_whole_numbers(tmp_path):
    path = write(tmp_path, {"text": "a", "id": 2**70 + 1})
    (record,) = read(path, id_field="id")
    assert record.identifier == str(2**70 + 1)


def test_a_field_within_a_field_cannot_be_named(tmp_path):
    (bad,) = read(write(tmp_path, {"data": {"text": "a"}}), text_field="data.text")
    assert "not those within 'data': write them flat" in bad.detail


def test_a_line_that_is_too_long_is_one_broken_row(tmp_path):
    path = write(tmp_path, {"text": "a"}, {"text": "x" * 5000}, {"text": "b"})
    found = read(path, row_limit=2000)
    assert texts(found) == [(1, "a"), (3, "b")]
    assert faults(found) == [(2, "too_long")]
    assert len(found[1].raw) == 200


def test_ids_and_groups_are_read_and_must_be_there(tmp_path):
    path = write(
        tmp_path,
        {"text": "a", "id": 7, "who": "x"},
        {"text": "b", "id": "8", "who": ""},
        {"text": "c", "id": 1.5, "who": "x"},
        {"text": "d", "who": "x"},
    )
    found = read(path, id_field="id", group_field="who")
    assert found[0] == Record(1, b"a", group="x", identifier="7")
    assert faults(found) == [(2, "missing_field"), (3, "wrong_type"), (4, "missing_field")]


def test_a_packed_file_is_unpacked_and_a_cut_one_refused(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    packed = gzip.compress(b'{"text": "a"}\n' * 50)
    path.write_bytes(packed)
    assert len(read(path)) == 50
    for damaged in (packed[:-12], b"no gzip at all"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"a\.jsonl\.gz is no whole jsonl file.*Restore"):
            read(path)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=8))
def test_every_text_survives(tmp_path_factory, found):
    path = write(tmp_path_factory.mktemp("any"), *({"text": text} for text in found))
    assert [text for _, text in texts(read(path))] == [text.removeprefix("\ufeff") for text in found]


def test_a_file_that_changed_since_it_was_listed_is_refused(tmp_path):
    from preprocessing.records.read_records import read_records
    from preprocessing.records.read_settings import ReadSettings
    from tests.preprocessing.records.reading import listed

    path = write(tmp_path, {"text": "a"})
    file, source = listed(path)
    write(tmp_path, {"text": "longer"})
    with pytest.raises(DataError, match="has changed since the run began"):
        list(read_records(file, ReadSettings(source, 4096, 4096)))
    path.unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        list(read_records(file, ReadSettings(source, 4096, 4096)))
