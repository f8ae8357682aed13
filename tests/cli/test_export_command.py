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


@pytest.mark.parametrize(
    ("cores", "form", "told"),
    [
        (6, ["--xla", "latency"], "--cores 6: products are cut into 4 slices"),
        (200, ["--xla", "throughput"], "--cores 200: products are cut into 64 slices"),
        (4, ["--xla", "latency"], ""),
        (6, [], "--cores 6 changes nothing"),
        (6, ["--xla", "latency", "--dtype", "int8"], "--cores 6 changes nothing"),
    ],
)
def test_it_is_told_what_became_of_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, form: list[str], told: str
):
    monkeypatch.setattr("models.export.export_package", lambda *_, **__: tmp_path / "1")
    result = invoke("--checkpoint", tmp_path, "--out", tmp_path / "base", "--json", "--cores", cores, *form)
    assert result.exit_code == 0, result.output
    assert told in result.stderr
    assert ("--cores" in result.stderr) == bool(told)


def test_the_cores_a_package_is_cut_for_are_in_its_manifest(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1)
    size = ("--max-length", 64, "--blocks", 9, "--version", 1, "--cores", 6)
    for profile, slices in (("latency", 4), ("off", 1)):
        result = invoke("--checkpoint", checkpoint, "--out", tmp_path / profile, "--xla", profile, *size)
        assert result.exit_code == 0, result.output
        assert Manifest.load(tmp_path / profile / "1").cores == slices


def test_help_says_when_cores_matter():
    assert "compiled packages only" in " ".join(invoke("--help").output.split())


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
