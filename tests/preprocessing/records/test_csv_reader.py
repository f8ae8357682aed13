from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import DataError
from preprocessing.records.bad_row import BadRow
from tests.preprocessing.records.reading import faults, read, texts


def write(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def test_rows_below_the_header_are_documents_with_line_ends_and_quotes_in_them(tmp_path):
    path = write(tmp_path, '\ufeffid,text\r\n1,"a, ""b""\nc"\r\n\r\n2,ä🎉\n')
    assert texts(read(path)) == [(1, 'a, "b"\nc'), (2, "ä🎉")]


@pytest.mark.parametrize("content", ["", "text\n", "\n"])
def test_an_empty_file_or_a_header_alone_has_no_records(tmp_path, content):
    assert read(write(tmp_path, content)) == []


def test_the_delimiter_is_the_sources_or_told_by_the_suffix(tmp_path):
    assert texts(read(write(tmp_path, "a;text\n1;x,y\n"), delimiter=";")) == [(1, "x,y")]
    assert texts(read(write(tmp_path, "a\ttext\n1\tx,y\n", "a.tsv"))) == [(1, "x,y")]


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        ("1", "wrong_columns", "1 columns, the header 2"),
        ("1,2,3", "wrong_columns", "3 columns, the header 2"),
        ('1,"a"b', "not_csv", "line 3"),
        (b"1,\xff", "not_utf8", "column 2 is not UTF-8"),
    ],
)
def test_a_broken_row_is_told_and_the_next_is_read(tmp_path, row, reason, detail):
    raw = row if isinstance(row, bytes) else row.encode()
    found = read(write(tmp_path, b"id,text\n1,a\n" + raw + b"\n1,b\n"))
    assert texts(found) == [(1, "a"), (3, "b")]
    (bad,) = [one for one in found if isinstance(one, BadRow)]
    assert (bad.row, bad.reason) == (2, reason)
    assert detail in bad.detail
    assert bad.raw.startswith("1")


@pytest.mark.parametrize("rest", ['2,"c"\n', "2,c\n"])
def test_a_quote_that_is_never_closed_costs_one_row(tmp_path, rest):
    found = read(write(tmp_path, f'id,text\n1,a\n1,"open\n1,b\n{rest}'))
    assert texts(found) == [(1, "a"), (3, "b"), (4, "c")]
    assert faults(found) == [(2, "not_csv")]


def test_a_row_that_is_too_long_is_broken_and_no_more_of_it_is_held(tmp_path):
    content = f'id,text\n1,a\n1,{"x" * 9000}\n1,b\n1,"{"y" * 3000}\n{"y" * 3000}\n"\n1,c\n'
    found = read(write(tmp_path, content), row_limit=4000)
    assert [text for _, text in texts(found)] == ["a", "b", "c"]
    assert faults(found)[0] == (2, "too_long")


def test_a_missing_or_double_column_is_named_with_the_nearest(tmp_path):
    with pytest.raises(DataError, match=r"no column 'text'.*\['id', 'texts'\]. Did you mean 'texts'\?"):
        read(write(tmp_path, "id,texts\n1,a\n"))
    with pytest.raises(DataError, match=r"has 2 columns 'text'.*Rename all but one"):
        read(write(tmp_path, "text,text\n1,a\n"))
    with pytest.raises(DataError, match=r"a\.csv: the header is broken.*UTF-8"):
        read(write(tmp_path, "text,ä\n1,a\n".encode("latin-1")))


def test_a_file_in_utf16_is_refused_at_its_header(tmp_path):
    with pytest.raises(DataError, match="no whole csv file: it is UTF-16, to be converted to UTF-8"):
        read(write(tmp_path, "text\na\n".encode("utf-16")))


@given(st.lists(st.text(st.sampled_from('ab,"\n\r ä🎉;'), min_size=1), max_size=8))
def test_what_a_csv_writer_wrote_is_read_again(tmp_path_factory, found):
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(["id", "text"])
    writer.writerows(["1", text] for text in found)
    path = write(tmp_path_factory.mktemp("any"), target.getvalue())
    assert [text for _, text in texts(read(path))] == found


def test_another_delimiter_in_the_header_is_told(tmp_path):
    with pytest.raises(DataError, match='`delimiter: ";"`'):
        read(write(tmp_path, "id;text\n1;a\n"))


def test_carriage_returns_end_lines_where_nothing_else_does(tmp_path):
    assert texts(read(write(tmp_path, "id,text\r1,a\r2,b\r"))) == [(1, "a"), (2, "b")]
