from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from components.pusher.release_directory import LOCK_FILE, ReleaseDirectory
from models.contract.errors import ConfigError, ModelNotFoundError, PackageError
from models.contract.labels import LABELS_FILE, Labels
from models.contract.manifest import Manifest
from models.contract.release_log import RELEASES_FILE, ReleaseLog, read_log
from models.package import content_hash
from tests.components.packages import bare_package

BLESSED = {"blessed": True}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Two blessed versions and one that is not, without labels: as if pushed before there were any."""
    for version, evaluation in ((1, BLESSED), (2, BLESSED), (3, {})):
        bare_package(tmp_path / "tiny" / str(version), weights=str(version), evaluation=evaluation)
    return tmp_path / "tiny"


def _promote(base: Path, version: int) -> None:
    with ReleaseDirectory(base).locked() as directory:
        directory.commit("promote", label="stable", from_version=directory.labels.stable, to_version=version)


def _actions(base: Path) -> list[tuple[str, int | None]]:
    return [(record.action, record.version) for record in ReleaseLog.load(base).records]


def test_versions_from_before_labels_are_adopted_and_the_newest_blessed_is_stable(base: Path):
    with ReleaseDirectory(base).locked() as directory:
        assert directory.labels.targets == {"stable": 2}
    assert _actions(base) == [("adopt", 1), ("adopt", 2), ("adopt", 3)]
    with ReleaseDirectory(base).locked():
        pass
    assert len(ReleaseLog.load(base).records) == 3


def test_a_damaged_version_does_not_become_stable_by_itself(base: Path):
    (base / "2" / "variables" / "weights").write_bytes(b"damaged")
    with ReleaseDirectory(base).locked() as directory:
        assert directory.labels.targets == {"stable": 1}


def test_a_record_says_who_when_and_what(base: Path):
    directory = ReleaseDirectory(base, who="ann", clock=lambda: 86_400.0)
    with directory.locked():
        directory.commit("canary", label="canary", to_version=1, weight=0.2, reason="try it")
    record = ReleaseLog.load(base).records[-1]
    assert (record.who, record.time, record.reason) == ("ann", "1970-01-02T00:00:00Z", "try it")
    assert (record.sequence, record.weight, record.blessed) == (4, 0.2, True)
    assert record.content_hash == Manifest.load(base / "1").content_hash


def test_a_refused_change_leaves_both_files_as_they_are(base: Path):
    with ReleaseDirectory(base).locked() as directory:
        before = (base / LABELS_FILE).read_bytes(), (base / RELEASES_FILE).read_bytes()
        with pytest.raises(ConfigError, match="stable version already"):
            directory.commit("promote", label="stable", to_version=2)
    assert ((base / LABELS_FILE).read_bytes(), (base / RELEASES_FILE).read_bytes()) == before


@pytest.mark.parametrize("tail", ["", '{"sequence": 5, "ti'])
def test_a_line_that_a_killed_writer_owed_is_completed(base: Path, tail: str):
    _promote(base, 1)
    whole = read_log(base)
    lines = whole.splitlines(keepends=True)
    (base / RELEASES_FILE).write_text("".join(lines[:-1]) + tail)
    with ReleaseDirectory(base).locked() as directory:
        assert directory.labels.stable == 1
    assert read_log(base) == whole


def test_a_last_record_without_its_line_end_is_kept(base: Path):
    _promote(base, 1)
    (base / RELEASES_FILE).write_text(read_log(base).rstrip("\n"))
    _promote(base, 3)
    assert [sequence.sequence for sequence in ReleaseLog.load(base).records] == [1, 2, 3, 4, 5]
    assert read_log(base).count("\n") == 5


def test_lost_labels_are_made_anew_from_the_history(base: Path):
    _promote(base, 1)
    kept = Labels.load(base)
    (base / LABELS_FILE).unlink()
    with ReleaseDirectory(base).locked() as directory:
        assert directory.labels == kept


def test_a_history_that_cannot_tell_the_lost_labels_is_named(base: Path):
    _promote(base, 1)
    (base / LABELS_FILE).unlink()
    lines = [line for line in read_log(base).splitlines() if '"stable"' not in line or '"promote"' in line]
    changed = [json.loads(line) for line in lines]
    changed[-1] |= {"action": "rollback"}
    (base / RELEASES_FILE).write_text("".join(json.dumps(line) + "\n" for line in changed))
    with (
        pytest.raises(PackageError, match=r"releases\.jsonl does not tell"),
        ReleaseDirectory(base).locked(),
    ):
        pass


def test_broken_labels_are_not_guessed_at(base: Path):
    (base / LABELS_FILE).write_text("{")
    with pytest.raises(PackageError, match=r"labels\.json"), ReleaseDirectory(base).locked():
        pass


def test_versions_must_be_there_and_hash(base: Path):
    directory = ReleaseDirectory(base)
    assert directory.verified(1).model == "tiny"
    with pytest.raises(ModelNotFoundError, match=r"version 7 is not in .*; there are: 1, 2, 3"):
        directory.verified(7)
    (base / "1" / "variables" / "weights").write_bytes(b"damaged")
    with pytest.raises(PackageError, match="hash to"):
        directory.verified(1)


def test_removal_hides_first_and_what_a_killed_one_left_is_swept(base: Path):
    with ReleaseDirectory(base).locked() as directory:
        directory.remove(1, "old")
    assert sorted(os.listdir(base)) == [LOCK_FILE, "2", "3", LABELS_FILE, RELEASES_FILE]
    (base / "3").rename(base / ".removing-3-deadbeef")
    with ReleaseDirectory(base).locked():
        pass
    assert sorted(os.listdir(base)) == [LOCK_FILE, "2", LABELS_FILE, RELEASES_FILE]
    assert _actions(base)[-2:] == [("remove", 1), ("remove", 3)]
    assert ReleaseLog.load(base).records[-2].content_hash != ""


def test_the_rollback_target_is_the_latest_undamaged_one(base: Path):
    _promote(base, 1)
    _promote(base, 3)
    with ReleaseDirectory(base).locked() as directory:
        assert directory.rollback_target() == 1
        (base / "1" / "variables" / "weights").write_bytes(b"damaged")
        assert directory.rollback_target() == 2
        (base / "2" / "variables" / "weights").write_bytes(b"damaged")
        assert directory.rollback_target() is None


def test_who_waits_too_long_is_told_for_whom(base: Path):
    with (
        ReleaseDirectory(base).locked(),
        pytest.raises(ConfigError, match=f"changed by process {os.getpid()}"),
        ReleaseDirectory(base, patience=0.05).locked(),
    ):
        pass


def test_concurrent_changes_take_turns(base: Path):
    def change(number: int) -> None:
        for _ in range(5):
            with ReleaseDirectory(base, who=f"t{number}").locked() as directory:
                version = 1 if directory.labels.stable != 1 else 2
                directory.commit(
                    "promote", label="stable", from_version=directory.labels.stable, to_version=version
                )

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = ReleaseLog.load(base).records
    assert [record.sequence for record in records] == list(range(1, 24))
    assert Labels.replay(records) == Labels.load(base)


WRITER = """
import sys
from pathlib import Path
from components.pusher.release_directory import ReleaseDirectory
base = Path(sys.argv[1])
print("ready", flush=True)
while True:
    with ReleaseDirectory(base).locked() as directory:
        stable = directory.labels.stable
        directory.commit("promote", label="stable", from_version=stable, to_version=1 if stable != 1 else 2)
"""


def test_a_killed_writer_leaves_the_old_or_the_new_state(base: Path):
    dice = random.Random(7)
    with ReleaseDirectory(base).locked():
        pass
    for _ in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(base)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(dice.uniform(0.0, 0.03))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        log, labels = ReleaseLog.load(base), Labels.load(base)
        assert (log.broken, Labels.replay(log.records)) == ((), labels)
    with ReleaseDirectory(base).locked() as directory:
        assert [record.sequence for record in directory.log.records] == list(
            range(1, directory.log.last_sequence + 1)
        )
        assert ReleaseLog.parse(read_log(base)) == directory.log
    assert all(content_hash(base / v) == Manifest.load(base / v).content_hash for v in "123")
