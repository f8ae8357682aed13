from __future__ import annotations

import os
from pathlib import Path

import pytest

from models.contract.errors import DataError
from preprocessing.corpus_files import CorpusFile, fingerprint, list_files, spans_left_out, spans_missing
from preprocessing.corpus_source import CorpusSource
from preprocessing.span_window import SpanWindow


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


def spans_of(files: list[CorpusFile]) -> list[tuple[str, int | None, str]]:
    return [(file.path, file.span, file.prefix) for file in files]


def test_the_newest_span_is_read_by_default_and_a_window_if_wanted(tmp_path):
    write(tmp_path, "s-1/a.txt", "s-2/b/c.txt", "s-10/a.txt", "plain/p.txt")
    sources = [source(tmp_path / "s-{SPAN}"), source(tmp_path / "plain", name="p")]
    assert spans_of(list_files(sources)) == [("s-10/a.txt", 10, "s-10/"), ("p.txt", None, "")]
    window = list_files(sources, SpanWindow(newest=2))
    assert spans_of(window)[:2] == [("s-2/b/c.txt", 2, "s-2/"), ("s-10/a.txt", 10, "s-10/")]
    assert spans_left_out(sources, window) == [1]


def test_globs_are_relative_to_the_span(tmp_path):
    write(tmp_path, "s-1/a.txt", "s-1/b.py")
    assert [f.path for f in list_files([source(tmp_path / "s-{SPAN}", include=["*.py"])])] == ["s-1/b.py"]


def test_a_span_may_be_one_file(tmp_path):
    write(tmp_path, "day-1.jsonl", "day-2.jsonl")
    (file,) = list_files([source(tmp_path / "day-{SPAN}.jsonl")])
    assert (file.path, file.span, file.format) == ("day-2.jsonl", 2, "jsonl")


def test_every_source_with_spans_must_have_one_in_the_window(tmp_path):
    write(tmp_path, "one/1/a.txt", "one/2/a.txt", "two/1/a.txt")
    sources = [source(tmp_path / f"{name}/{{SPAN}}", name=name) for name in ("one", "two")]
    with pytest.raises(DataError, match=r"'two' has none of the newest span \(\[2\]\); it has spans \[1\]"):
        list_files(sources)
    assert len(list_files(sources, SpanWindow(newest=2))) == 3
    with pytest.raises(DataError, match=r"'one' has none of the spans from 7 on \(none there\)"):
        list_files(sources, SpanWindow(first=7))
    with pytest.raises(DataError, match=r"'x': nothing lies at .*none.*\{SPAN\}"):
        list_files([source(tmp_path / "none-{SPAN}", name="x")])


@pytest.mark.parametrize("window", [{"newest": 2, "last": 99}, {"first": 2, "last": 9}, {"first": 1}])
def test_the_ends_of_a_window_must_be_there(tmp_path, window):
    write(tmp_path, "s-2/a.txt", "s-3/a.txt")
    with pytest.raises(DataError, match=r"there is no span (99|9|1); the newest there are \[2, 3\]"):
        list_files([source(tmp_path / "s-{SPAN}")], SpanWindow(**window))


def test_gaps_of_a_window_are_named(tmp_path):
    write(tmp_path, "one/2/a.txt", "one/5/a.txt", "two/2/a.txt")
    sources = [source(tmp_path / f"{name}/{{SPAN}}", name=name) for name in ("one", "two")]
    assert spans_missing(sources, SpanWindow(first=2, last=5)) == {"one": [3, 4], "two": [3, 4, 5]}
    assert spans_missing(sources, SpanWindow(newest=2)) == {"two": [5]}


def test_a_linked_folder_is_named(tmp_path, caplog):
    write(tmp_path, "a/b.txt")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert len(list_files([source(tmp_path)])) == 1
    assert "link is a link, which is not followed" in caplog.text
