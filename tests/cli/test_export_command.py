"""`tokenmill export` as a script uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.export_command import command
from models.contract.errors import CheckpointError, ConfigError
from models.contract.manifest import Manifest
from tests.tiny import write_tiny_checkpoint


def invoke(*arguments: object):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_it_prints_where_the_package_is(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1)
    base = tmp_path / "models" / "mine"
    result = invoke(
        "--checkpoint", checkpoint, "--out", base, "--max-length", 64, "--blocks", 9, "--version", 5, "--json"
    )
    assert json.loads(result.stdout) == {"path": str(base / "5"), "version": 5}
    manifest = Manifest.load(base / "5")
    assert (manifest.model, manifest.max_length, manifest.num_blocks) == ("mine", 64, 9)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--dtype", "int8"], "--dtype int8"),
        (["--dtype", "bfloat16"], "--dtype bfloat16"),
        (["--xla", "latency"], "--xla latency"),
        (["--stateless"], "--stateless"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(tmp_path: Path, arguments: list[str], name: str):
    result = invoke("--checkpoint", tmp_path, "--out", tmp_path / "base", *arguments)
    assert isinstance(result.exception, ConfigError)
    assert f"`{name}` is not offered yet." in str(result.exception)
    assert not (tmp_path / "base").exists()


def test_a_missing_checkpoint_is_named(tmp_path: Path):
    result = invoke("--checkpoint", tmp_path / "nowhere", "--out", tmp_path / "base")
    assert isinstance(result.exception, CheckpointError)
    assert "nowhere" in str(result.exception)
    assert not (tmp_path / "base").exists()


def test_a_length_beyond_the_checkpoints_is_refused(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1)
    result = invoke("--checkpoint", checkpoint, "--out", tmp_path / "base", "--max-length", 257)
    assert isinstance(result.exception, ConfigError)
    assert "made for 256 tokens" in str(result.exception)
