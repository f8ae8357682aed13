"""`tokenmill export` as a script uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.export_command import command
from models.contract.errors import CheckpointError, ConfigError
from models.contract.manifest import Manifest
from models.export_options import ExportOptions
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
    ("arguments", "wanted"),
    [
        ([], ("float32", "off", False)),
        (["--dtype", "int8", "--xla", "throughput"], ("int8", "throughput", False)),
        (["--dtype", "bfloat16", "--xla", "latency"], ("bfloat16", "latency", False)),
        (["--stateless"], ("float32", "off", True)),
    ],
)
def test_every_form_of_package_can_be_asked_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    wanted: tuple[str, str, bool],
):
    asked: list[ExportOptions] = []

    def export_package(checkpoint: Path, base: Path, options: ExportOptions, *, version: int | None) -> Path:
        asked.append(options)
        return base / "1"

    monkeypatch.setattr("models.export.export_package", export_package)
    result = invoke("--checkpoint", tmp_path, "--out", tmp_path / "base", "--json", *arguments)
    assert result.exit_code == 0, result.output
    assert [(options.dtype, options.profile, options.stateless) for options in asked] == [wanted]


def test_an_int8_package_says_so_and_needs_a_quarter_of_the_memory(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1)
    needs = {}
    for dtype in ("float32", "int8"):
        base = tmp_path / dtype
        size = ("--max-length", 64, "--blocks", 9, "--version", 1)
        result = invoke("--checkpoint", checkpoint, "--out", base, "--dtype", dtype, *size)
        assert result.exit_code == 0, result.output
        manifest = Manifest.load(base / "1")
        assert manifest.dtype == dtype
        needs[dtype] = manifest.memory_bytes["weights"]
    # Norms and the scales of outputs stay float32, which in so small a network weigh something.
    assert 0.25 <= needs["int8"] / needs["float32"] < 0.4


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
