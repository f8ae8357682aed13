from __future__ import annotations

import pytest

from preprocessing.corpus_format import default_delimiter, detect_format, is_gzip
from preprocessing.corpus_source import CorpusSource


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.jsonl", "jsonl"),
        ("a.NDJSON.gz", "jsonl"),
        ("a.csv", "csv"),
        ("a.tsv.gz", "csv"),
        ("a.parquet", "parquet"),
        ("a.tfrecord", "tfrecord"),
        ("data_tfrecord-00000-of-00001.gz", "tfrecord"),
        ("a.py", "text"),
        ("a.json", "text"),
        ("a.txt.gz", "text"),
        ("jsonl", "text"),
        ("README", "text"),
    ],
)
def test_the_suffix_tells_the_format_and_unknown_ones_are_text(path, expected):
    assert detect_format(path) == expected


def test_packed_files_and_delimiters_are_told_by_the_suffix():
    assert [is_gzip(path) for path in ("a.GZ", "a.gzip", "a")] == [True, False, False]
    assert [default_delimiter(path) for path in ("a.csv", "a.tsv", "A.TSV.gz")] == [",", "\t", "\t"]


def test_a_source_may_name_the_format_and_chat_reads_messages():
    auto, chat = CorpusSource(name="a", path="x"), CorpusSource(name="a", path="x", format="chat")
    assert [auto.format_of("a.jsonl"), chat.format_of("a.jsonl")] == ["jsonl", "chat"]
    assert [auto.field_of("jsonl"), chat.field_of("chat")] == ["text", "messages"]
    assert CorpusSource(name="a", path="x", text_field="body").field_of("chat") == "body"
