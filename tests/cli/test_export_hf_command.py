"""`tokenmill export-hf` as a script uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.export_hf_command import command
from models.checkpoint import load_checkpoint
from models.contract.errors import CheckpointError, ConfigError, PackageError
from models.export import export_package
from models.export_options import ExportOptions
from tests.tiny import TINY


def invoke(*arguments: object):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_a_package_base_and_a_checkpoint_give_the_same_weights(
    tiny_checkpoint: Path, tiny_package: Path, tmp_path: Path
):
    first, second = tmp_path / "first", tmp_path / "second"
    result = invoke("--package", tiny_package.parent, "--out", first, "--json")
    wanted = {
        "path": str(first),
        "family": "llama",
        "parameters": TINY.num_parameters,
        "package_dtype": "float32",
    }
    assert json.loads(result.stdout) == wanted
    assert invoke("--checkpoint", tiny_checkpoint, "--out", second).exit_code == 0
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()
    assert load_checkpoint(first).config == load_checkpoint(second).config


@pytest.mark.parametrize("both", [True, False])
def test_exactly_one_source_is_asked_for(tmp_path: Path, both: bool):
    sources = ["--package", tmp_path, "--checkpoint", tmp_path] if both else []
    result = invoke(*sources, "--out", tmp_path / "hf")
    assert isinstance(result.exception, ConfigError)
    assert "one of `--package` and `--checkpoint`" in str(result.exception)


@pytest.mark.parametrize(
    ("option", "error"), [("--package", PackageError), ("--checkpoint", CheckpointError)]
)
def test_what_is_not_there_is_named(tmp_path: Path, option: str, error: type[Exception]):
    result = invoke(option, tmp_path / "nowhere", "--out", tmp_path / "hf")
    assert isinstance(result.exception, error)
    assert "nowhere" in str(result.exception)
    assert not (tmp_path / "hf").exists()


def test_dequantised_weights_are_said_to_be(tiny_checkpoint: Path, tmp_path: Path):
    options = ExportOptions(dtype="int8", max_length=64, block_size=4, num_blocks=17)
    package = export_package(tiny_checkpoint, tmp_path / "base", options)
    result = invoke("--package", package, "--out", tmp_path / "hf")
    assert "dequantised from int8" in result.stderr
    assert load_checkpoint(tmp_path / "hf").config == load_checkpoint(tiny_checkpoint).config
