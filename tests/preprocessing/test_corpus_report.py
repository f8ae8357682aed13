from __future__ import annotations

import numpy as np

from preprocessing.corpus_report import bad_row_counts, corpus_report
from tests.preprocessing.planning import plan, row_file, text_file

ACTIONS = {"near_duplicates": {"action": "drop"}, "leaks": {"action": "report"}}


def test_everything_that_was_read_is_kept_or_accounted_for():
    rows = [(f"t{i}", "", f"g{i}") for i in range(30)]
    broken = row_file("b.jsonl", rows[:2], source="r")
    broken.summary.rows, broken.summary.reasons = 7, {"not_json": 3, "missing_field": 2}
    files = [
        text_file("x/1.txt"),
        text_file("y/1.txt", "x/1.txt"),
        text_file("z/1.txt", blank=1, blank_rows=[0]),
        text_file("w/1.txt", reasons={"not_utf8": 1}, bad_text="not UTF-8 text at byte 3."),
        row_file("a.jsonl", rows, source="r", span=4),
        broken,
    ]
    made = plan(files, on_bad_utf8="skip")
    report = corpus_report(
        made, actions=ACTIONS, spans_left_out=[2, 3], spans_asked="the newest span", spans_missing={"s": [5]}
    )
    assert (report["rows"], report["documents"]) == (41, 31)
    assert sum(split["documents"] for split in report["splits"].values()) == 31
    assert sum(split["bytes"] for split in report["splits"].values()) == 310
    texts, tables = report["sources"]
    assert (texts["source"], texts["format"], tables["source"], tables["format"]) == (
        "s",
        "text",
        "r",
        "jsonl",
    )
    assert (texts["files"], texts["rows"], texts["documents"], texts["broken"]) == (4, 4, 1, 1)
    assert (tables["files"], tables["rows"], tables["documents"], tables["broken"]) == (2, 37, 30, 5)
    assert tables["train"] + tables["eval"] == 30
    assert report["left_out"] == {
        "duplicates": {"count": 3},
        "superseded": {"count": 0},
        "near_duplicates": {"count": 0, "action": "drop"},
        "leaks": {"count": 0, "action": "report"},
        "blank": {"count": 1},
        "not_utf8": {"count": 1},
        "broken_rows": {"count": 5},
    }
    assert report["rows"] == report["documents"] + sum(kind["count"] for kind in report["left_out"].values())
    assert set(report["examples"]) == {"duplicates", "blank", "not_utf8"}
    assert report["examples"]["duplicates"][0] == "s/y/1.txt = s/x/1.txt"
    assert report["examples"]["blank"] == ["s/z/1.txt"]
    assert report["examples"]["not_utf8"] == ["s/w/1.txt: not UTF-8 text at byte 3."]
    letters = report["dead_letters"]
    assert (letters["count"], letters["reasons"]) == (6, {"not_json": 3, "missing_field": 2, "not_utf8": 1})
    assert report["spans"] == {
        "asked": "the newest span",
        "missing": {"s": [5]},
        "read": {"4": 30},
        "newest": 4,
        "left_out": [2, 3],
    }


def test_examples_are_few_and_a_corpus_without_spans_has_none():
    made = plan([row_file("a.jsonl", [("x", "", "g")] * 50 + [("y", "", "h")])])
    made.leaks = np.array([[0, 50]])
    report = corpus_report(made, actions=ACTIONS)
    assert report["left_out"]["duplicates"]["count"] == 49
    assert len(report["examples"]["duplicates"]) == 20
    assert report["left_out"]["leaks"] == {"action": "report", "count": 1}
    assert report["examples"]["leaks"] == ["s/a.jsonl#1 = s/a.jsonl#51"]
    assert report["spans"] is None


def test_only_tables_count_towards_the_limits():
    table = row_file("a.jsonl", [("x", "", "g")], source="r")
    table.summary.reasons = {"not_json": 1}
    text = text_file("x", reasons={"not_utf8": 1}, bad_text="why")
    assert bad_row_counts([table, table, text]) == {"r": (2, 2)}
