from __future__ import annotations

import pytest
from pydantic import ValidationError

from models.contract.errors import DataError
from preprocessing.corpus_options import check_options
from preprocessing.corpus_source import CorpusSource


@pytest.mark.parametrize(
    ("options", "files", "message"),
    [
        ({"text_field": "body"}, [("a.txt", "text")], "`text_field` is set, but all its files are texts"),
        ({"delimiter": ";"}, [("a.jsonl", "jsonl")], "`delimiter` is set, but none of its files is CSV"),
        ({}, [("a.txt", "text"), ("b.JSON.gz", "text")], r"b.JSON.gz is JSON.*format: jsonl.*format: text"),
        ({"format": "chat"}, [("a.csv", "chat")], "a.csv is csv"),
    ],
)
def test_what_does_not_fit_is_refused(options, files, message):
    with pytest.raises(DataError, match=message):
        check_options(CorpusSource(name="s", path="x", **options), files)


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ({"text_field": "body"}, [("a.txt", "text"), ("a.csv", "csv")]),
        ({"format": "text"}, [("a.json", "text")]),
        ({"format": "jsonl", "id_field": "id"}, [("a.json", "jsonl")]),
    ],
)
def test_what_a_file_can_use_is_right(options, files):
    assert check_options(CorpusSource(name="s", path="x", **options), files) is None


@pytest.mark.parametrize(
    "options",
    [
        {"format": "text", "id_field": "id"},
        {"format": "jsonl", "delimiter": ";"},
        {"weight": 101},
        {"weight": 1e13},
    ],
)
def test_options_without_meaning_and_weights_without_measure_are_refused(options):
    with pytest.raises(ValidationError):
        CorpusSource(name="s", path="x", **options)
