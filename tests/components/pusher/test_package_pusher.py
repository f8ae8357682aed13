from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from components.pusher.package_pusher import PackagePusher
from models.contract.errors import ConfigError, PackageError
from models.contract.manifest import Manifest
from models.contract.package import versions
from tests.components.packages import bare_package


def _push(pusher: PackagePusher, package: Path) -> tuple[Path, bool]:
    return pusher.push(package, run_id="r1", evaluation={"blessed": True, "perplexity": 2.5})


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return bare_package(tmp_path / "made")


def test_a_version_is_a_complete_copy_with_a_completed_manifest(tmp_path: Path, package: Path):
    target, new = _push(PackagePusher(tmp_path / "push" / "tiny", lambda: 1000.9), package)
    manifest = Manifest.load(target)
    assert (target.name, new) == ("1000", True)
    assert (manifest.run_id, manifest.evaluation["perplexity"]) == ("r1", 2.5)
    assert (target / "variables" / "weights").read_bytes() == (package / "variables/weights").read_bytes()
    assert os.listdir(tmp_path / "push" / "tiny") == ["1000"]
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
    assert os.listdir(tmp_path / "push") == []


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
