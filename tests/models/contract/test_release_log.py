from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import PackageError
from models.contract.labels import LABELS_FILE, Labels
from models.contract.release_log import RELEASES_FILE, ReleaseLog
from models.contract.release_record import ReleaseRecord

RECORDS = [
    ReleaseRecord(
        1, "2026-01-01T00:00:00Z", "push", "stable", None, 10, None, "ann", "first", "r1", "ab", True
    ),
    ReleaseRecord(2, "2026-01-02T00:00:00Z", "push", "", None, 11, who="a\u2028n", reason="zwei\n„x“"),
    ReleaseRecord(3, "2026-01-03T00:00:00Z", "canary", "canary", None, 11, weight=0.1),
    ReleaseRecord(4, "2026-01-04T00:00:00Z", "promote", "stable", 10, 11),
    ReleaseRecord(5, "2026-01-05T00:00:00Z", "remove", "", 10, None),
]
TEXT = "".join(record.to_line() for record in RECORDS)


def test_a_record_is_one_line_and_comes_back():
    assert TEXT.count("\n") == len(RECORDS)
    assert ReleaseLog.parse(TEXT) == ReleaseLog(tuple(RECORDS))
    assert json.loads(RECORDS[3].to_line())["from"] == 10
    assert RECORDS[4].version == 10


@given(st.integers(0, len(TEXT.encode())))
def test_a_log_cut_at_any_byte_keeps_all_whole_lines(cut: int):
    data = TEXT.encode()[:cut]
    log = ReleaseLog.parse(data.decode(errors="replace"))
    whole = data.count(b"\n")
    assert log.broken == ()
    assert log.records in (tuple(RECORDS[:whole]), tuple(RECORDS[: whole + 1]))


def test_a_broken_line_is_counted_and_the_others_are_kept():
    lines = [record.to_line() for record in RECORDS]
    lines[1] = '{"sequence": 2, "time": "t", "action": "dance"}\n'
    log = ReleaseLog.parse("".join(lines))
    assert log.broken == (2,)
    assert [record.sequence for record in log.records] == [1, 3, 4, 5]


def test_present_versions_are_those_that_appeared_and_were_not_removed():
    log = ReleaseLog(tuple(RECORDS))
    assert log.versions == {11: RECORDS[1]}
    assert log.last_sequence == 5


def test_a_change_whose_line_is_missing_is_known_from_the_label_file(tmp_path: Path):
    assert ReleaseLog.load(tmp_path) == ReleaseLog()
    (tmp_path / RELEASES_FILE).write_text("".join(record.to_line() for record in RECORDS[:3]))
    (tmp_path / LABELS_FILE).write_text(Labels.replay(RECORDS[:4]).to_json())
    assert ReleaseLog.load(tmp_path).records == tuple(RECORDS[:4])
    (tmp_path / RELEASES_FILE).write_text(TEXT)
    assert ReleaseLog.load(tmp_path).records == tuple(RECORDS)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"sequence": 0}, "counts from 1"),
        ({"sequence": True}, "sequence"),
        ({"action": "dance"}, "'dance'"),
        ({"label": "beta"}, "'beta'"),
        ({"to": "11"}, "`to` is '11'"),
        ({"blessed": 1}, "blessed"),
        ({"who": None}, "who"),
    ],
)
def test_a_field_that_does_not_fit_is_named(change: dict[str, object], problem: str):
    with pytest.raises(PackageError, match=problem):
        ReleaseRecord.from_dict({**RECORDS[0].to_dict(), **change})


def test_missing_fields_are_named_and_unknown_ones_passed_over():
    with pytest.raises(PackageError, match="`action` is missing"):
        ReleaseRecord.from_dict({"sequence": 1, "time": "t"})
    assert ReleaseRecord.from_dict({**RECORDS[0].to_dict(), "new": 1}) == RECORDS[0]
    with pytest.raises(PackageError, match="no release record"):
        ReleaseRecord.from_line("[]")
