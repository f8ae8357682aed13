from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from components.pusher.package_pusher import PackagePusher
from models.contract.errors import ConfigError, ModelNotFoundError, NotBlessedError, PackageError
from models.contract.labels import Labels
from models.contract.manifest import Manifest
from models.contract.package import versions
from models.contract.release_log import ReleaseLog
from pipeline.blessing_origin import OWN_WORD
from pipeline.release_manager import ReleaseManager
from tests.components.packages import bare_package

BLESSED = {"blessed": True, "perplexity": 3.5}


@pytest.fixture
def releases(tmp_path: Path) -> ReleaseManager:
    """Four versions were pushed; the first is stable, the third was blessed by nothing."""
    manager = ReleaseManager(tmp_path / "models", "tiny", who="ann")
    for number in range(4):
        evaluation = {} if number == 2 else BLESSED
        made = bare_package(tmp_path / f"made{number}", weights=str(number), evaluation=evaluation)
        manager.push(made, allow_unblessed=number == 2)
    return manager


@pytest.fixture
def base(tmp_path: Path, releases: ReleaseManager) -> Path:
    return tmp_path / "models" / "tiny"


@pytest.fixture
def four(base: Path) -> list[int]:
    found = versions(base)
    assert len(found) == 4
    return found


def _targets(base: Path) -> dict[str, int]:
    labels = Labels.load(base)
    assert labels is not None
    return labels.targets


def _damage(base: Path, version: int) -> None:
    (base / str(version) / "variables" / "weights").write_bytes(b"damaged")


def test_the_way_of_a_version_from_push_to_rollback(releases: ReleaseManager, base: Path, four: list[int]):
    assert _targets(base) == {"stable": four[0]}
    record = releases.canary(None, 0.25, reason="try")
    assert (record.from_version, record.to_version, record.weight) == (None, four[3], 0.25)
    assert _targets(base) == {"stable": four[0], "canary": four[3]}
    record = releases.promote()
    assert (record.from_version, record.to_version) == (four[0], four[3])
    assert _targets(base) == {"stable": four[3]}
    record = releases.rollback(reason="repeats itself")
    assert (record.from_version, record.to_version, record.reason) == (four[3], four[0], "repeats itself")
    assert _targets(base) == {"stable": four[0]}
    assert {record.who for record in ReleaseLog.load(base).records} == {"ann"}


def test_a_rollback_ends_a_canary_and_leaves_stable_alone(
    releases: ReleaseManager, base: Path, four: list[int]
):
    releases.promote(four[1])
    releases.canary(four[3], 0.5)
    assert releases.rollback().label == "canary"
    assert _targets(base) == {"stable": four[1]}
    assert releases.rollback().to_version == four[0]


def test_what_was_rolled_back_is_taken_again_only_by_its_name(
    releases: ReleaseManager, base: Path, four: list[int]
):
    releases.canary(four[3], 0.5)
    releases.rollback()
    assert releases.canary(None, 0.5).to_version == four[1]
    releases.promote()
    for choose in (releases.promote, lambda: releases.canary(None, 0.1)):
        with pytest.raises(
            ConfigError, match=f"no blessed version newer .* version {four[3]} was rolled back"
        ):
            choose()
    assert releases.canary(four[3], 0.5).to_version == four[3]


def test_a_canary_s_share_can_be_changed(releases: ReleaseManager, base: Path, four: list[int]):
    releases.canary(four[1], 0.1)
    releases.canary(four[1], 0.4)
    labels = Labels.load(base)
    assert labels is not None
    assert labels.traffic == {four[0]: 0.6, four[1]: 0.4}


def test_another_version_is_not_promoted_past_a_canary(releases: ReleaseManager, base: Path, four: list[int]):
    releases.canary(four[1], 0.1)
    with pytest.raises(ConfigError, match=f"version {four[1]} is on trial"):
        releases.promote(four[3])


def test_a_target_must_exist_and_hash(releases: ReleaseManager, base: Path, four: list[int]):
    _damage(base, four[1])
    before = _targets(base)
    for change in (releases.promote, lambda version: releases.canary(version, 0.1)):
        with pytest.raises(ModelNotFoundError, match="version 7 is not in"):
            change(7)
        with pytest.raises(PackageError, match="hash to"):
            change(four[1])
    assert _targets(base) == before


def test_a_target_must_be_blessed_unless_that_is_said(releases: ReleaseManager, base: Path, four: list[int]):
    with pytest.raises(NotBlessedError, match="--allow-unblessed"):
        releases.canary(four[2], 0.1)
    with pytest.raises(NotBlessedError, match="blessed by no evaluation"):
        releases.promote(four[2])
    assert releases.canary(four[2], 0.1, allow_unblessed=True).blessed is False
    with pytest.raises(NotBlessedError):
        releases.promote()
    releases.promote(allow_unblessed=True)
    assert _targets(base) == {"stable": four[2]}


def test_a_rollback_passes_over_what_is_lost_and_says_so(
    releases: ReleaseManager, base: Path, four: list[int]
):
    releases.promote(four[1])
    releases.promote(four[3])
    _damage(base, four[1])
    record = releases.rollback(reason="bad")
    assert record.to_version == four[0]
    assert record.reason == f"bad; version {four[1]} passed over: gone or damaged"


def test_a_rollback_without_a_way_back_is_refused(releases: ReleaseManager, base: Path, four: list[int]):
    with pytest.raises(ConfigError, match="no earlier stable version"):
        releases.rollback()
    releases.promote(four[1])
    shutil.rmtree(base / str(four[0]))
    with pytest.raises(ConfigError, match=r"no earlier stable version .*tokenmill promote"):
        releases.rollback()
    assert _targets(base) == {"stable": four[1]}


def test_only_what_hashes_and_is_blessed_is_pushed(tmp_path: Path):
    manager = ReleaseManager(tmp_path / "models", "tiny")
    made = bare_package(tmp_path / "made" / "1")
    with pytest.raises(NotBlessedError, match="blessed by no evaluation"):
        manager.push(tmp_path / "made")
    assert not (tmp_path / "models").exists()
    result = manager.push(tmp_path / "made", allow_unblessed=True)
    assert (result.new, result.label) == (True, "")
    assert Manifest.load(result.path).evaluation == {}
    (made / "variables" / "weights").write_bytes(b"damaged")
    with pytest.raises(PackageError, match="hash to"):
        manager.push(made, allow_unblessed=True)


def test_a_pushed_package_of_another_directory_keeps_its_facts(tmp_path: Path, base: Path, four: list[int]):
    elsewhere = ReleaseManager(tmp_path / "elsewhere", "tiny")
    pusher = PackagePusher(base)
    trained = bare_package(tmp_path / "trained", weights="of a run")
    source = pusher.push(trained, run_id="r", evaluation=BLESSED, reason="It is better.").path
    result = elsewhere.push(source, reason="from staging")
    assert (result.label, Manifest.load(result.path)) == ("stable", Manifest.load(source))
    assert ReleaseLog.load(result.path.parent).records[-1].reason == "from staging"


def test_a_blessing_that_only_the_package_tells_of_is_recorded_as_such(
    tmp_path: Path, base: Path, four: list[int]
):
    assert ReleaseLog.load(base).records[0].reason == OWN_WORD
    assert ReleaseLog.load(base).records[2].reason == ""
    # Taken over from there it is still nobody's word but its own.
    elsewhere = ReleaseManager(tmp_path / "elsewhere", "tiny")
    result = elsewhere.push(base / str(four[3]), reason="from staging")
    assert ReleaseLog.load(result.path.parent).records[-1].reason == f"from staging; {OWN_WORD}"


@pytest.mark.parametrize("model", [".hidden", "a b", "labels.json/", "Tiny", "x" * 64])
def test_a_model_is_pushed_under_a_name_that_models_have(tmp_path: Path, model: str):
    made = bare_package(tmp_path / "made", evaluation=BLESSED)
    with pytest.raises(ConfigError, match=r"model name .* (does not fit|is no name of a folder)"):
        ReleaseManager(tmp_path / "models", model).push(made)
    assert not (tmp_path / "models").exists()


def test_the_flag_for_unblessed_versions_goes_with_a_version(releases: ReleaseManager, four: list[int]):
    for choose in (
        lambda: releases.canary(None, 0.5, allow_unblessed=True),
        lambda: releases.promote(allow_unblessed=True),
    ):
        with pytest.raises(ConfigError, match=r"without a version.*--version"):
            choose()
    releases.promote(four[1])
    releases.promote(four[3])
    releases.rollback()
    with pytest.raises(ConfigError, match=f"version {four[2]} was blessed by no evaluation"):
        releases.promote()


def test_the_status_shows_versions_labels_and_history(releases: ReleaseManager, base: Path, four: list[int]):
    releases.canary(four[1], 0.25)
    shutil.rmtree(base / str(four[0]))
    status = releases.status().to_json()
    assert status["labels"] == {"stable": four[0], "canary": four[1]}
    rows = {row["version"]: row for row in status["versions"]}
    assert [row["version"] for row in status["versions"]] == four[::-1]
    assert (rows[four[0]]["problem"], rows[four[0]]["traffic"]) == ("missing", 0.75)
    assert (rows[four[1]]["label"], rows[four[1]]["traffic"], rows[four[1]]["perplexity"]) == (
        "canary",
        0.25,
        3.5,
    )
    assert (rows[four[2]]["blessed"], rows[four[2]]["perplexity"]) == (False, None)
    assert [record["action"] for record in status["releases"]] == ["push"] * 4 + ["canary"]
    assert status["releases"][-1]["to"] == four[1]


@pytest.mark.parametrize("model", ["", "..", "a/b", "/tiny"])
def test_a_model_is_the_name_of_a_folder(tmp_path: Path, model: str):
    with pytest.raises(ConfigError, match="no name of a folder"):
        ReleaseManager(tmp_path, model)


def test_an_unknown_model_is_named_with_the_known_ones(releases: ReleaseManager, tmp_path: Path):
    other = ReleaseManager(tmp_path / "models", "other")
    for use in (other.status, other.promote, other.rollback):
        with pytest.raises(ModelNotFoundError, match=r"no model 'other' in .*; there are: tiny"):
            use()
    assert not (tmp_path / "models" / "other").exists()
