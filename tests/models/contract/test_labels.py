from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import ConfigError, ModelNotFoundError, PackageError
from models.contract.labels import LABELS_FILE, MOST_PREVIOUS, Labels
from models.contract.release_record import ReleaseRecord


def record(action: str, to: int | None = None, label: str = "", **values: object) -> ReleaseRecord:
    return ReleaseRecord(
        sequence=1, time="2026-01-01T00:00:00Z", action=action, label=label, to_version=to, **values
    )


def after(*records: ReleaseRecord) -> Labels:
    return Labels.replay(records)


FIRST = record("push", 1, "stable")
CANARY = record("canary", 2, "canary", weight=0.25)


def test_a_push_without_a_label_moves_none():
    labels = after(FIRST, record("push", 2))
    assert (labels.targets, labels.traffic) == ({"stable": 1}, {1: 1.0})


def test_a_canary_takes_its_share_and_is_promoted():
    labels = after(FIRST, CANARY)
    assert labels.targets == {"stable": 1, "canary": 2}
    assert labels.traffic == {1: 0.75, 2: 0.25}
    labels = labels.after(record("promote", 2, "stable"))
    assert (labels.targets, labels.traffic, labels.previous) == ({"stable": 2}, {2: 1.0}, (1,))


def test_a_rollback_ends_a_canary_first_and_then_goes_back_step_by_step():
    labels = after(FIRST, record("promote", 2, "stable"), record("canary", 3, "canary", weight=0.5))
    labels = labels.after(record("rollback", None, "canary"))
    assert (labels.targets, labels.canary_weight) == ({"stable": 2}, 0.0)
    labels = labels.after(record("rollback", 1, "stable"))
    assert (labels.targets, labels.previous) == ({"stable": 1}, ())


def test_a_rollback_may_pass_over_a_version_that_is_lost():
    labels = after(FIRST, record("promote", 2, "stable"), record("promote", 3, "stable"))
    assert labels.after(record("rollback", 1, "stable")).previous == ()


def test_a_removed_version_is_no_target_of_a_rollback():
    labels = after(FIRST, record("promote", 2, "stable"), record("remove", from_version=1))
    assert labels.previous == ()


@pytest.mark.parametrize(
    ("history", "change", "problem"),
    [
        ([], CANARY, "no stable version"),
        ([FIRST], record("canary", 1, "canary", weight=0.5), "is the stable version"),
        ([FIRST], record("promote", 1, "stable"), "stable version already"),
        ([FIRST], record("push", 2, "stable"), "stable version is 1"),
        ([FIRST, CANARY], record("promote", 3, "stable"), "version 2 is on trial"),
        ([FIRST], record("rollback", None, "canary"), "no canary"),
        ([FIRST], record("rollback", 9, "stable"), "no earlier stable version"),
        ([FIRST], record("promote", None, "stable"), "names no version"),
        *[
            ([FIRST], dataclasses.replace(CANARY, weight=weight), "between 0 and 1")
            for weight in (None, 0.0, -0.5, 1.0, 7.0, float("nan"))
        ],
    ],
)
def test_a_change_that_makes_no_sense_is_refused(
    history: list[ReleaseRecord], change: ReleaseRecord, problem: str
):
    with pytest.raises(ConfigError, match=problem):
        after(*history).after(change)


def test_the_file_holds_all_of_it(tmp_path: Path):
    assert Labels.load(tmp_path) is None
    labels = after(FIRST, record("promote", 5, "stable"), record("canary", 2, "canary", weight=0.1))
    (tmp_path / LABELS_FILE).write_text(labels.to_json())
    assert Labels.load(tmp_path) == labels
    assert json.loads(labels.to_json())["labels"] == {"stable": 5, "canary": 2}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema_version": 2}, "schema_version"),
        ({"labels": []}, "labels"),
        ({"labels": {"beta": 3}}, "beta"),
        ({"labels": {"stable": "1"}}, "no version"),
        ({"labels": {"stable": True}}, "no version"),
        ({"previous": [-1]}, "no version"),
        ({"canary_weight": 0.0}, "canary_weight"),
        ({"canary_weight": "much"}, "canary_weight"),
        ({"last_release": {"sequence": 0}}, "time"),
    ],
)
def test_a_broken_file_is_named_with_the_way_out(tmp_path: Path, change: dict[str, object], problem: str):
    good = json.loads(after(FIRST, CANARY).to_json())
    (tmp_path / LABELS_FILE).write_text(json.dumps({**good, **change}))
    with pytest.raises(PackageError, match=problem):
        Labels.load(tmp_path)


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]"])
def test_what_is_no_label_file_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / LABELS_FILE).write_bytes(content)
    with pytest.raises(PackageError, match="remove it"):
        Labels.load(tmp_path)


def test_a_label_that_is_not_set_is_not_found():
    with pytest.raises(ModelNotFoundError, match=r"'canary' is not set; set are: stable"):
        after(FIRST).resolve("canary")


VERSIONS = st.integers(1, 5)
CHANGES = st.one_of(
    st.builds(lambda v, label: record("push", v, label), VERSIONS, st.sampled_from(["", "stable"])),
    st.builds(lambda v, w: record("canary", v, "canary", weight=w), VERSIONS, st.floats(-0.5, 1.5)),
    st.builds(lambda v: record("promote", v, "stable"), VERSIONS),
    st.builds(lambda v: record("rollback", v, "stable"), VERSIONS),
    st.just(record("rollback", None, "canary")),
    st.builds(lambda v: record("remove", from_version=v), VERSIONS),
)


@given(st.lists(CHANGES, max_size=60))
def test_whatever_is_done_labels_stay_sound(changes: list[ReleaseRecord]):
    labels, done = Labels(), []
    for change in changes:
        before = labels
        try:
            labels = labels.after(change)
        except ConfigError:
            continue
        done.append(change)
        assert before.stable is None or labels.stable is not None
        assert labels.canary is None or labels.canary != labels.stable
        assert labels.stable is not None or not labels.previous
        assert len(labels.previous) <= MOST_PREVIOUS
        assert abs(sum(labels.traffic.values()) - (labels.stable is not None)) < 1e-9
        assert all(share > 0 for share in labels.traffic.values())
    assert Labels.replay(done) == labels == Labels.from_json(labels.to_json())
