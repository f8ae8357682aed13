from __future__ import annotations

import os
from pathlib import Path

import pytest

from models.contract.errors import DataError
from preprocessing.corpus_files import fingerprint, list_files
from preprocessing.corpus_source import CorpusSource


def source(path: Path, **changes: object) -> CorpusSource:
    return CorpusSource(**{"name": "s", "path": str(path), **changes})


def write(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)


def test_files_come_in_the_order_of_sources_and_paths(tmp_path):
    write(tmp_path, "one/b.txt", "one/a/z.txt", "one/a.txt", "two/a.txt")
    files = list_files([source(tmp_path / "two", name="x"), source(tmp_path / "one", name="w")])
    assert [(f.source, f.path) for f in files] == [
        ("x", "a.txt"),
        ("w", "a.txt"),
        ("w", "a/z.txt"),
        ("w", "b.txt"),
    ]
    assert Path(files[2].location).read_text() == "one/a/z.txt"


def test_hidden_files_are_left_out_by_default(tmp_path):
    write(tmp_path, "a.txt", ".b.txt", ".git/c.txt", "d/.e/f.txt")
    assert [f.path for f in list_files([source(tmp_path)])] == ["a.txt"]
    assert len(list_files([source(tmp_path, exclude=[])])) == 4


def test_a_source_may_be_one_file(tmp_path):
    write(tmp_path, "a.txt", "b.txt")
    assert [f.path for f in list_files([source(tmp_path / "a.txt")])] == ["a.txt"]


def test_loops_of_links_end_and_dangling_links_are_left_out(tmp_path):
    write(tmp_path, "a/b.txt")
    os.symlink(tmp_path, tmp_path / "a/up")
    os.symlink(tmp_path / "missing", tmp_path / "a/gone.txt")
    assert [f.path for f in list_files([source(tmp_path)])] == ["a/b.txt"]


def test_a_missing_source_is_named_with_its_remedy(tmp_path):
    with pytest.raises(DataError, match=r"'s'.*nowhere does not exist.*`path`"):
        list_files([source(tmp_path / "nowhere")])


def test_a_source_without_matching_files_is_named_with_its_globs(tmp_path):
    write(tmp_path, "deep/a.py")
    with pytest.raises(DataError, match=r"no file below .*\['\*\.py'\].*widen the globs"):
        list_files([source(tmp_path, include=["*.py"])])


def test_the_fingerprint_changes_with_names_sizes_and_times(tmp_path):
    write(tmp_path, "a.txt", "b.txt")

    def now() -> str:
        return fingerprint(list_files([source(tmp_path)]))

    first = now()
    assert now() == first
    os.utime(tmp_path / "a.txt", ns=(1, 1))
    second = now()
    assert second != first
    (tmp_path / "a.txt").write_text("longer than before")
    os.utime(tmp_path / "a.txt", ns=(1, 1))
    third = now()
    assert third not in (first, second)
    write(tmp_path, "c.txt")
    assert now() not in (first, second, third)
