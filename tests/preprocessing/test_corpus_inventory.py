from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from preprocessing import corpus_inventory
from preprocessing.corpus_files import list_files
from preprocessing.corpus_inventory import FileSummary, inspect_file, usable_records
from preprocessing.corpus_source import CorpusSource
from preprocessing.records.bad_row import BadRow
from preprocessing.records.read_settings import ReadSettings


def inspect(
    path: Path, *, seed: int = 0, **options: object
) -> tuple[np.ndarray, list[BadRow], FileSummary, list[bytes]]:
    source = CorpusSource(name="s", path=str(path), **options)
    (file,) = list_files([source])
    settings = ReadSettings(source, 16, 1024)
    found = list(inspect_file(file, settings, group_depth=1, seed=seed))
    blocks = [one for one in found if isinstance(one, np.ndarray)]
    assert isinstance(found[-1], FileSummary)
    usable = [] if found[-1].fault else [record.text for record in usable_records(file, settings)]
    return np.concatenate(blocks), [one for one in found if isinstance(one, BadRow)], found[-1], usable


def test_documents_blank_rows_and_broken_ones_are_counted_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_inventory, "BLOCK", 2)
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "a"}\n{"text": " \\n"}\n{"txt": ""}\n{"text": "ä"}\n{"text": "a"}\nx\n{"text": "c"}\n'
    )
    documents, bad, summary, usable = inspect(path)
    assert documents["row"].tolist() == [1, 4, 5, 7]
    assert documents["size"].tolist() == [1, 2, 1, 1]
    assert documents["digest"][0].tolist() == documents["digest"][2].tolist()
    assert documents["group"][0] == documents["group"][2] != documents["group"][1]
    assert len({tuple(digest) for digest in documents["digest"].tolist()}) == 3
    assert [one.row for one in bad] == [3, 6]
    assert summary == FileSummary(
        rows=7, blank=1, blank_rows=[2], reasons={"missing_field": 1, "not_json": 1}
    )
    assert usable == [b"a", "ä".encode(), b"a", b"c"]


def test_the_seed_changes_groups_but_not_digests(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    one, other = (inspect(tmp_path / "a.txt", seed=seed)[0] for seed in (0, 1))
    assert one["digest"].tolist() == other["digest"].tolist()
    assert one["group"] != other["group"]


def test_ids_belong_to_their_source_and_none_is_none(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a", "id": 1}\n{"text": "b", "id": "1"}\n')
    assert len(set(inspect(tmp_path / "a.jsonl", id_field="id")[0]["identifier"].tolist())) == 1
    assert inspect(tmp_path / "a.jsonl")[0]["identifier"].tolist() == [0, 0]


def test_a_text_with_a_broken_place_in_a_late_piece_counts_as_one_row(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one line here\n" * 4 + b"\xff")
    _, bad, summary, _ = inspect(tmp_path / "a.txt")
    assert summary == FileSummary(rows=1, reasons={"not_utf8": 1}, bad_text="not UTF-8 text at byte 56.")
    assert len(bad) == 1


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_fault_of_the_file_is_part_of_the_summary(tmp_path, name):
    (tmp_path / name).write_text("other,columns\n1,2\n")
    documents, _, summary, _ = inspect(tmp_path / name)
    assert summary.fault is not None
    assert name in str(summary.fault[0])
    assert len(documents) == 0
