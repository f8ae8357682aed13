from __future__ import annotations

from pathlib import Path

import pytest

from models.contract.errors import DataError
from preprocessing.span_paths import find_spans, has_spans, span_fault


def make(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def found(folder: Path, pattern: str) -> list[tuple[int, int | None, str]]:
    return [(one.span, one.version, one.prefix) for one in find_spans(str(folder / pattern))]


def test_spans_come_by_number_whatever_else_lies_there(tmp_path):
    make(tmp_path, "span-10/a", "span-9/a", "span-x/a", "span-/a", "other/a", "xspan-3/a", "span-3b/a")
    assert found(tmp_path, "span-{SPAN}") == [(9, None, "span-9"), (10, None, "span-10")]
    assert find_spans(str(tmp_path / "span-{SPAN}"))[0].root == tmp_path / "span-9"


def test_the_newest_version_of_a_span_wins(tmp_path):
    make(tmp_path, "1/v2/a", "1/v10/a", "2/v1/a", "3/other/a")
    assert found(tmp_path, "{SPAN}/v{VERSION}") == [(1, 10, "1/v10"), (2, 1, "2/v1")]


def test_spans_may_be_files_and_stand_in_the_middle_of_a_path(tmp_path):
    make(tmp_path, "day-1.v1.jsonl", "day-1.v2.jsonl", "in/7/part/a", "in/8/a")
    assert found(tmp_path, "day-{SPAN}.v{VERSION}.jsonl") == [(1, 2, "day-1.v2.jsonl")]
    assert found(tmp_path, "in/{SPAN}/part") == [(7, None, "7/part")]


def test_a_width_takes_that_many_digits(tmp_path):
    make(tmp_path, "s01/a", "s1/a", "s123/a")
    assert found(tmp_path, "s{SPAN:2}") == [(1, None, "s01")]
    assert found(tmp_path, "s{SPAN:2}{VERSION:1}") == [(12, 3, "s123")]


def test_a_date_is_the_number_of_its_day(tmp_path):
    make(tmp_path, "1970-01-02/a", "2024-02-29/a", "x/a")
    assert found(tmp_path, "{YYYY}-{MM}-{DD}") == [(1, None, "1970-01-02"), (19782, None, "2024-02-29")]
    make(tmp_path, "2023-02-29/a")
    with pytest.raises(DataError, match="2023-02-29 names no date"):
        found(tmp_path, "{YYYY}-{MM}-{DD}")


def test_one_span_in_two_folders_is_refused(tmp_path):
    make(tmp_path, "span-1/a", "span-01/a")
    with pytest.raises(DataError, match=r"span-01.*span-1 are the same span.*\{SPAN:2\}"):
        found(tmp_path, "span-{SPAN}")


def test_nothing_there_is_no_span(tmp_path):
    assert found(tmp_path, "missing/{SPAN}") == []


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("a/b", None),
        ("{stdlib}/x", None),
        ("a/{SPAN}", None),
        ("a/{SPAN:2}/{VERSION}", None),
        ("a/{YYYY}/{MM}/{DD}/v{VERSION}", None),
        ("{SPAN}/{SPAN}", "placeholder twice"),
        ("{SPAN}/{VERSION}/{VERSION:2}", "placeholder twice"),
        ("{VERSION}", r"{VERSION} without {SPAN}"),
        ("{YYYY}/{MM}", "mixes placeholders"),
        ("{YYYY}{MM}{DD}{SPAN}", "mixes placeholders"),
        ("{SPAN:0}", "width of 0"),
    ],
)
def test_placeholders_that_make_no_sense_are_refused(path, fault):
    told = span_fault(path)
    assert told is None if fault is None else told is not None and fault in told


def test_paths_with_spans_are_known():
    assert [has_spans(path) for path in ("a", "{stdlib}", "{SPAN}", "{SPAN:2}", "{DD}")] == [
        False,
        False,
        True,
        True,
        True,
    ]
