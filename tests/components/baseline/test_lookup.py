from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.baseline.baseline import Baseline
from components.baseline.lookup import checkpoint_fingerprint, find_baseline
from components.pusher.package_pusher import PackagePusher
from components.pusher.release_directory import ReleaseDirectory
from models.contract.errors import CheckpointError
from models.contract.package import versions
from models.package import content_hash
from tests.components.packages import bare_package, edit_weights
from tests.tiny import write_tiny_checkpoint

GOOD = {"blessed": True}


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("pretrained"))


def _find(base: Path, pretrained: Path, recorded: dict[str, str] | None = None) -> Baseline:
    return find_baseline(base, pretrained, tokenizer_fingerprint="t", recorded=recorded or {})


def test_a_first_run_is_compared_with_the_pretrained_checkpoint(tmp_path: Path, pretrained: Path):
    found = _find(tmp_path / "missing", pretrained)
    assert (found.kind, found.path, found.version) == ("checkpoint", str(pretrained), None)
    assert found.fingerprint == checkpoint_fingerprint(pretrained)


def test_the_newest_blessed_version_wins(tmp_path: Path, pretrained: Path):
    for version in (8, 9, 10):
        bare_package(tmp_path / str(version), weights=f"h{version}", evaluation=GOOD)
    found = _find(tmp_path, pretrained)
    assert (found.kind, found.version, found.fingerprint) == (
        "package",
        10,
        content_hash(tmp_path / "10"),
    )


def test_versions_that_do_not_qualify_are_passed_over(tmp_path: Path, pretrained: Path):
    bare_package(tmp_path / "1", evaluation=GOOD)
    bare_package(tmp_path / "2", evaluation={"blessed": False})
    bare_package(tmp_path / "3")
    bare_package(tmp_path / "4", evaluation=GOOD, fingerprint="another tokenizer")
    bare_package(tmp_path / "5", weights="swapped", evaluation=GOOD)
    (bare_package(tmp_path / "6", evaluation=GOOD) / "assets.extra" / "tokenmill.json").write_text("{")
    tampered = bare_package(tmp_path / "7", evaluation=GOOD)
    (tampered / "variables" / "weights").write_bytes(b"other weights")
    found = _find(tmp_path, pretrained, {str(tmp_path / "5"): "what was pushed"})
    assert found.version == 1
    assert re.search(r"Version 7 is no baseline: .*files hash to", found.reason)
    assert all(f"Version {version} is no baseline" in found.reason for version in range(2, 8))


def test_a_corrupted_package_leaves_the_pretrained_model_as_the_baseline(tmp_path: Path, pretrained: Path):
    package = bare_package(tmp_path / "1", evaluation=GOOD)
    (package / "variables" / "more").write_bytes(b"x")
    found = _find(tmp_path, pretrained)
    assert found.kind == "checkpoint"
    assert "Version 1 is no baseline" in found.reason


def test_a_first_run_from_scratch_is_compared_with_its_random_weights(tmp_path: Path, pretrained: Path):
    found = find_baseline(
        tmp_path / "missing", pretrained, tokenizer_fingerprint="t", recorded={}, untrained=True
    )
    assert (found.kind, found.label, found.path) == ("untrained", "untrained model", str(pretrained))
    assert "so the untrained model is the baseline" in found.reason
    bare_package(tmp_path / "1", evaluation=GOOD)
    later = find_baseline(tmp_path, pretrained, tokenizer_fingerprint="t", recorded={}, untrained=True)
    assert later.label == "pushed version 1"


def test_a_newer_version_with_another_tokenizer_is_remembered(tmp_path: Path, pretrained: Path):
    bare_package(tmp_path / "1", evaluation=GOOD, fingerprint="another")
    bare_package(tmp_path / "2", evaluation=GOOD, fingerprint="another")
    bare_package(tmp_path / "3", evaluation={"blessed": False}, fingerprint="another")
    found = _find(tmp_path, pretrained)
    assert found.foreign == str(tmp_path / "2")
    assert "No blessed package" in found.reason
    assert "Version 2 is no baseline: " in found.reason
    bare_package(tmp_path / "4", evaluation=GOOD)
    assert _find(tmp_path, pretrained).foreign == ""


def test_without_package_and_checkpoint_there_is_no_baseline(tmp_path: Path):
    with pytest.raises(CheckpointError, match="tokenmill import"):
        _find(tmp_path, tmp_path / "nowhere")


def test_the_fingerprint_follows_the_weights(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "a")
    before = checkpoint_fingerprint(checkpoint)
    assert checkpoint_fingerprint(write_tiny_checkpoint(tmp_path / "b")) == before
    edit_weights(checkpoint, "mlp", 3.0)
    assert checkpoint_fingerprint(checkpoint) != before


def test_a_baseline_reads_back(tmp_path: Path):
    baseline = Baseline("package", "/p", "hash", "Because.", 7, "run")
    baseline.write(tmp_path / "new")
    assert Baseline.read(tmp_path / "new") == baseline
    assert baseline.label == "pushed version 7"


def test_a_version_that_was_rolled_back_is_passed_over_until_it_has_a_label_again(
    tmp_path: Path, pretrained: Path
):
    base = tmp_path / "tiny"
    for number in range(2):
        made = bare_package(tmp_path / f"made{number}", weights=str(number))
        PackagePusher(base).push(made, run_id="", evaluation=GOOD)
    old, new = versions(base)
    with ReleaseDirectory(base).locked() as directory:
        directory.commit("promote", label="stable", from_version=old, to_version=new)
        directory.commit(
            "rollback", label="stable", from_version=new, to_version=old, reason="repeats itself"
        )
    found = _find(base, pretrained)
    assert found.version == old
    assert f"Version {new} is no baseline: it was rolled back (repeats itself)." in found.reason
    with ReleaseDirectory(base).locked() as directory:
        directory.commit("promote", label="stable", from_version=old, to_version=new)
    assert _find(base, pretrained).version == new
