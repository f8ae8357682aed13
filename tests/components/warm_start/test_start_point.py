from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from components.baseline.lookup import checkpoint_fingerprint
from components.warm_start.start_point import find_start
from models.checkpoint import load_checkpoint
from models.contract.errors import PackageError
from models.contract.manifest import Manifest
from preprocessing.tokenizers import load_tokenizer
from tests.components.packages import bare_package
from tests.tiny import write_tiny_checkpoint

GOOD = {"blessed": True}


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("pretrained"))


@pytest.fixture(scope="module")
def fingerprint(pretrained: Path) -> str:
    return load_tokenizer(pretrained).fingerprint


def test_without_a_blessed_version_training_starts_from_the_pretrained_model(
    tmp_path, pretrained, fingerprint
):
    bare_package(tmp_path / "push" / "1", evaluation={"blessed": False}, fingerprint=fingerprint)
    bare_package(tmp_path / "push" / "2", evaluation=GOOD, fingerprint="another tokenizer")
    start = find_start(tmp_path / "push", pretrained, {})
    assert (start.kind, start.path, start.version) == ("checkpoint", str(pretrained), 0)
    assert start.fingerprint == checkpoint_fingerprint(pretrained)
    assert "Version 2 is passed over: it has another tokenizer" in start.reason
    assert "Version 1 is passed over: no evaluation blessed it" in start.reason
    (pretrained / "notes.txt").write_text("not part of a checkpoint")
    start.write_checkpoint(tmp_path / "copy")
    assert checkpoint_fingerprint(tmp_path / "copy") == start.fingerprint
    assert load_tokenizer(tmp_path / "copy").eos_ids == load_tokenizer(pretrained).eos_ids
    assert not (tmp_path / "copy" / "notes.txt").exists()


def test_the_newest_blessed_version_becomes_the_checkpoint_it_was_exported_from(
    tmp_path, pretrained, fingerprint, trained
):
    checkpoint, package = trained
    old = bare_package(tmp_path / "push" / "1", evaluation=GOOD, fingerprint=fingerprint)
    shutil.copytree(package, tmp_path / "push" / "2")
    start = find_start(tmp_path / "push", pretrained, {})
    manifest = Manifest.load(package)
    assert (start.kind, start.version, start.fingerprint) == ("package", 2, manifest.content_hash)
    assert start.run_id == "a-run"
    start.write_checkpoint(tmp_path / "start")
    started, expected = load_checkpoint(tmp_path / "start"), load_checkpoint(checkpoint)
    for name, weight in expected.named_weights().items():
        np.testing.assert_array_equal(started.named_weights()[name].numpy(), weight.numpy(), err_msg=name)
    assert load_tokenizer(tmp_path / "start").fingerprint == fingerprint
    first = find_start(tmp_path / "push", pretrained, {}, Manifest.load(old).content_hash)
    assert first.version == 1
    assert "Version 2 is passed over: its content is another" in first.reason


def test_a_version_whose_content_is_not_what_was_pushed_is_no_start(tmp_path, pretrained, fingerprint):
    package = bare_package(tmp_path / "1", evaluation=GOOD, fingerprint=fingerprint)
    assert find_start(tmp_path, pretrained, {}).kind == "package"
    assert find_start(tmp_path, pretrained, {str(package): "what was pushed"}).kind == "checkpoint"


def test_a_package_of_an_earlier_version_is_named_with_the_way_out(tmp_path, pretrained, fingerprint):
    bare_package(tmp_path / "push" / "1", evaluation=GOOD, fingerprint=fingerprint)
    start = find_start(tmp_path / "push", pretrained, {})
    with pytest.raises(
        PackageError, match=r"cannot start from the latest.*`training.start_from: pretrained`"
    ):
        start.write_checkpoint(tmp_path / "start")
    assert not (tmp_path / "start").exists()
