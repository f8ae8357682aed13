from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from components.pusher.package_pusher import PackagePusher
from components.pusher.release_directory import LOCK_FILE, ReleaseDirectory
from components.pusher.retention import removable
from models.contract.errors import ConfigError, PackageError
from models.contract.labels import LABELS_FILE, Labels
from models.contract.manifest import Manifest
from models.contract.package import versions
from models.contract.release_log import RELEASES_FILE, ReleaseLog
from tests.components.packages import bare_package

BLESSED = {"blessed": True, "perplexity": 2.5}


def _push(pusher: PackagePusher, package: Path) -> tuple[Path, bool]:
    result = pusher.push(package, run_id="r1", evaluation=BLESSED)
    return result.path, result.new


def _hidden(base: Path) -> set[str]:
    return {name for name in os.listdir(base) if name.startswith(".")}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return bare_package(tmp_path / "made")


def test_a_version_is_a_complete_copy_with_a_completed_manifest(tmp_path: Path, package: Path):
    target, new = _push(PackagePusher(tmp_path / "push" / "tiny", lambda: 1000.9), package)
    manifest = Manifest.load(target)
    assert (target.name, new) == ("1000", True)
    assert (manifest.run_id, manifest.evaluation["perplexity"]) == ("r1", 2.5)
    assert (target / "variables" / "weights").read_bytes() == (package / "variables/weights").read_bytes()
    assert sorted(os.listdir(tmp_path / "push" / "tiny")) == [LOCK_FILE, "1000", LABELS_FILE, RELEASES_FILE]
    assert Manifest.load(package).run_id == ""


def test_versions_rise_even_if_the_clock_does_not(tmp_path: Path):
    pusher = PackagePusher(tmp_path / "push", lambda: 5.0)
    for number in range(3):
        _push(pusher, bare_package(tmp_path / f"made{number}", weights=str(number)))
    assert versions(tmp_path / "push") == [5, 6, 7]


def test_the_same_content_is_not_pushed_twice(tmp_path: Path, package: Path):
    pusher = PackagePusher(tmp_path / "push", lambda: 5.0)
    assert _push(pusher, package)[1]
    assert _push(pusher, package) == (tmp_path / "push" / "5", False)


def test_a_version_with_an_unreadable_manifest_is_passed_over(tmp_path: Path, package: Path):
    base = tmp_path / "push"
    for version, text in ((8, "{"), (9, '{"schema_version": 99}'), (10, "[]")):
        (base / str(version) / "assets.extra").mkdir(parents=True)
        (base / str(version) / "assets.extra" / "tokenmill.json").write_text(text)
    pusher = PackagePusher(base, lambda: 5.0)
    assert _push(pusher, package) == (base / "11", True)
    (base / "12" / "assets.extra").mkdir(parents=True)
    (base / "12" / "assets.extra" / "tokenmill.json").write_text("{")
    assert _push(pusher, package) == (base / "11", False)


@pytest.mark.parametrize("evaluation", [{}, {"blessed": False}, {"blessed": "yes"}])
def test_the_same_content_without_a_blessing_is_pushed(
    tmp_path: Path, package: Path, evaluation: dict[str, object]
):
    bare_package(tmp_path / "push" / "3", evaluation=evaluation)
    target, new = _push(PackagePusher(tmp_path / "push", lambda: 5.0), package)
    assert (target.name, new) == ("5", True)
    assert Manifest.load(target).evaluation["blessed"] is True


def test_a_damaged_version_of_the_same_content_is_pushed_anew(tmp_path: Path, package: Path):
    pusher = PackagePusher(tmp_path / "push", lambda: 5.0)
    first, _ = _push(pusher, package)
    (first / "variables" / "weights").write_bytes(b"damaged")
    assert _push(pusher, package) == (tmp_path / "push" / "6", True)


def test_a_version_that_appears_meanwhile_is_left_alone(tmp_path: Path, package: Path):
    base = tmp_path / "push"

    def clock() -> float:
        if not (base / "7").exists():
            bare_package(base / "7", weights="another process")
        return 7.0

    pusher = PackagePusher(base, clock)
    target, _ = _push(pusher, package)
    assert target.name == "8"
    assert (base / "7" / "variables" / "weights").read_bytes().startswith(b"another process")


def test_a_failing_copy_leaves_nothing_behind(tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(source: Path, target: Path) -> None:
        target.mkdir()
        (target / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", broken)
    with pytest.raises(ConfigError, match=r"No space left.*push\.directory"):
        _push(PackagePusher(tmp_path / "push"), package)
    assert os.listdir(tmp_path / "push") == [LOCK_FILE]


def test_what_a_killed_push_left_is_swept_but_not_a_running_one(tmp_path: Path, package: Path):
    base = tmp_path / "push"
    dead, alive = base / ".pushing-999999999-ab", base / ".pushing-1-cd"
    dead.mkdir(parents=True)
    alive.mkdir()
    _push(PackagePusher(base, lambda: 5.0), package)
    assert not dead.exists()
    assert alive.exists()


def test_a_full_disk_is_noticed_before_copying(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(ConfigError, match="MiB free"):
        _push(PackagePusher(tmp_path / "push"), package)


def test_a_base_that_is_a_file_is_named(tmp_path: Path, package: Path):
    (tmp_path / "push").write_text("")
    with pytest.raises(ConfigError, match="push"):
        _push(PackagePusher(tmp_path / "push"), package)


def test_only_packages_are_pushed(tmp_path: Path):
    with pytest.raises(PackageError, match="not a Tokenmill model package"):
        _push(PackagePusher(tmp_path / "push"), tmp_path)


def _pushed(base: Path, count: int, **settings: object) -> list[int]:
    pusher = PackagePusher(base, lambda: 5.0, **settings)
    for number in range(count):
        made = bare_package(base.parent / f"made-{number}", weights=str(number))
        pusher.push(made, run_id=f"r{number}", evaluation=BLESSED, reason=f"reason {number}")
    return versions(base)


def test_the_first_blessed_version_is_stable_and_later_ones_are_only_pushed(tmp_path: Path):
    base = tmp_path / "push"
    unblessed = bare_package(tmp_path / "unblessed", weights="u")
    assert PackagePusher(base, lambda: 4.0).push(unblessed, run_id="", evaluation={}).label == ""
    assert Labels.load(base).stable is None
    assert _pushed(base, 3, who="ann") == [4, 5, 6, 7]
    assert Labels.load(base).targets == {"stable": 5}
    records = ReleaseLog.load(base).records
    assert [(r.action, r.label, r.to_version, r.blessed) for r in records] == [
        ("push", "", 4, False),
        ("push", "stable", 5, True),
        ("push", "", 6, True),
        ("push", "", 7, True),
    ]
    assert (records[1].who, records[1].reason, records[1].run_id) == ("ann", "reason 0", "r0")
    assert records[1].content_hash == Manifest.load(base / "5").content_hash


def test_an_unblessed_copy_of_a_blessed_version_changes_nothing(tmp_path: Path, package: Path):
    pusher = PackagePusher(tmp_path / "push", lambda: 5.0)
    _push(pusher, package)
    result = pusher.push(package, run_id="", evaluation={})
    assert (result.path.name, result.new, result.label) == ("5", False, "stable")
    assert len(ReleaseLog.load(tmp_path / "push").records) == 1


def test_retention_keeps_the_newest_the_labelled_and_the_rollback_target(tmp_path: Path):
    base = tmp_path / "push"
    assert _pushed(base, 5) == [5, 6, 7, 8, 9]
    directory = ReleaseDirectory(base)
    with directory.locked():
        directory.commit("promote", label="stable", from_version=5, to_version=6)
        directory.commit("promote", label="stable", from_version=6, to_version=7)
        directory.commit("canary", label="canary", to_version=8, weight=0.5)
    made = bare_package(tmp_path / "made-a", weights="a")
    result = PackagePusher(base, lambda: 5.0, keep=1).push(made, run_id="", evaluation=BLESSED)
    assert (result.removed, versions(base)) == ((5, 9), [6, 7, 8, 10])
    assert Labels.load(base).previous == (6,)
    assert [r.from_version for r in ReleaseLog.load(base).records if r.action == "remove"] == [5, 9]
    assert _hidden(base) == {LOCK_FILE}


def test_retention_keeps_what_a_later_run_would_compare_with(tmp_path: Path):
    base = tmp_path / "push"
    bare_package(base / "2", weights="x", evaluation=BLESSED, fingerprint="other tokenizer")
    bare_package(base / "3", weights="y", evaluation={})
    _pushed(base, 3)
    (base / "7" / "variables" / "weights").write_bytes(b"damaged")
    _push(PackagePusher(base, lambda: 5.0, keep=1), bare_package(tmp_path / "a", weights="0"))
    assert versions(base) == [2, 3, 8]


def test_retention_counts_no_damaged_version_as_a_baseline(tmp_path: Path):
    base = tmp_path / "push"
    _pushed(base, 3)
    directory = ReleaseDirectory(base)
    with directory.locked():
        directory.commit("promote", label="stable", from_version=5, to_version=6)
        directory.commit("promote", label="stable", from_version=6, to_version=7)
    (base / "6" / "variables" / "weights").write_bytes(b"damaged")
    (base / "7" / "variables" / "weights").write_bytes(b"damaged")
    with directory.locked():
        assert removable(directory, 1) == [6]


def test_a_version_number_is_never_used_again(tmp_path: Path):
    base = tmp_path / "push"
    _pushed(base, 2)
    shutil.rmtree(base / "6")
    assert _push(PackagePusher(base, lambda: 1.0), bare_package(tmp_path / "b", weights="b"))[0].name == "7"
    assert [r.reason for r in ReleaseLog.load(base).records if r.action == "remove"] == ["found missing"]


def test_two_pushes_at_once_of_the_same_content_make_one_version(tmp_path: Path, package: Path):
    base = tmp_path / "push"
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: _push(PackagePusher(base), package), range(4)))
    assert len({path for path, _ in results}) == 1
    assert [new for _, new in results].count(True) == 1
    assert _hidden(base) == {LOCK_FILE}


def test_retention_keeps_the_version_rolled_back_last_and_counts_no_such_one_as_a_baseline(tmp_path: Path):
    base = tmp_path / "tiny"
    for number in range(4):
        _push(PackagePusher(base, lambda: 5.0), bare_package(tmp_path / str(number), weights=str(number)))
    with ReleaseDirectory(base).locked() as directory:
        for version in (7, 8):
            directory.commit("canary", label="canary", to_version=version, weight=0.5)
            directory.commit("rollback", label="canary", from_version=version)
        # 5 is stable, 6 the next baseline, 8 was rolled back last, 7 before.
        assert removable(directory, 1) == [7]
