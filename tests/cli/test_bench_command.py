from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.bench_command import command
from models.contract.errors import ConfigError
from tests.tiny_package import tiny_checkpoint, tiny_package  # noqa: F401


def run(*words: object) -> Any:
    return CliRunner().invoke(
        command, ["decode", *map(str, words)], catch_exceptions=False, standalone_mode=False
    )


@pytest.mark.parametrize("words", [(), ("--random", "gpt2", "--package", "x")])
def test_one_source_is_needed(words: tuple[str, ...]):
    with pytest.raises(ConfigError, match="one of --package, --checkpoint and --random"):
        run(*words)


@pytest.mark.parametrize(
    "option", [("--peers", "vllm"), ("--batch", "0"), ("--batch", "two"), ("--dtype", "int4")]
)
def test_a_wrong_word_in_a_list_is_named(option: tuple[str, str]):
    result = CliRunner().invoke(command, ["decode", "--random", "gpt2", *option])
    assert result.exit_code == 2
    assert repr(option[1]) in result.output


def test_a_package_beside_a_peer_that_is_not_there(tiny_package: Path, tmp_path: Path):  # noqa: F811
    words = ["--package", tiny_package, "--batch", "1,2", "--prompt", 4, "--tokens", 6, "--steps", 2]
    words += ["--peers", "llamacpp", "--rounds", 2, "--threads", 1, "--sampled", "--json"]
    result = json.loads(run(*words, "--out", tmp_path / "out", "--profile", tmp_path / "trace").stdout)
    assert [(line["batch"], line["engine"]) for line in result["summary"]] == [
        (1, "tokenmill"),
        (1, "tokenmill sampled"),
        (2, "tokenmill"),
        (2, "tokenmill sampled"),
    ]
    assert result["missing"] == {"llama.cpp": "No module named 'llama_cpp'"}
    assert len(result["runs"]) == 8
    assert all(0 < line["of_limit"] < 1 for line in result["summary"])
    assert set(result["scaling"]) == {"1", "2"}
    assert result["recompute"] is None
    assert json.loads((tmp_path / "out" / "decode.json").read_text())["summary"] == result["summary"]
    assert (tmp_path / "out" / "decode.svg").is_file()
    assert _traced_planes(tmp_path / "trace")


def test_people_get_a_table(tiny_checkpoint: Path, tmp_path: Path):  # noqa: F811
    words = ["--checkpoint", tiny_checkpoint, "--xla", "off", "--batch", 1, "--prompt", 4, "--tokens", 4]
    words += ["--peers", "pytorch", "--peer-python", "/no/such/python", "--rounds", 1, "--threads", 1]
    output = run(*words, "--out", tmp_path).stdout
    assert "ms/step" in output
    assert "4 of 4" in output
    assert "PyTorch is missing" in output


def _traced_planes(directory: Path) -> list[str]:
    """Names of the planes in the one trace, where TensorBoard's profile plugin looks for it."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    (file,) = directory.glob("plugins/profile/*/*.xplane.pb")
    return [plane.name for plane in xplane_pb2.XSpace.FromString(file.read_bytes()).planes if plane.lines]
