from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from safetensors.numpy import load_file, save_file

from cli.bench_command import command
from cli.bench_table import bench_tables
from models.contract.errors import ConfigError, PackageError
from pipeline.data_table import DataTable
from tests.tiny import write_tiny_checkpoint
from tests.tiny_package import tiny_checkpoint, tiny_package, tiny_stateless_package  # noqa: F401


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


@pytest.mark.parametrize("option", ["--batch", "--dtype", "--peers"])
@pytest.mark.parametrize("words", [",", " , ,", ""])
def test_an_empty_list_is_refused_by_name(option: str, words: str):
    result = CliRunner().invoke(command, ["decode", "--random", "gpt2", option, words])
    assert result.exit_code == 2
    assert option in result.output
    assert "empty" in result.output


@pytest.mark.parametrize(
    "option", [("--dtype", "int8"), ("--dtype", "float32"), ("--xla", "auto"), ("--xla", "off"), ("--reuse",)]
)
def test_what_a_package_decides_is_refused_beside_one(option: tuple[str, ...], tiny_package: Path):  # noqa: F811
    with pytest.raises(ConfigError, match=f"{option[0]} was given together with --package") as caught:
        run("--package", tiny_package, *option)
    assert caught.value.codes.exit == 2


def test_prompt_and_answer_beyond_the_context_are_refused_before_anything_is_made(
    tiny_package: Path,  # noqa: F811
    tiny_checkpoint: Path,  # noqa: F811
    tmp_path: Path,
):
    for source in (("--package", tiny_package), ("--checkpoint", tiny_checkpoint)):
        words = ["--prompt", 200, "--tokens", 57, "--out", tmp_path / "out"]
        with pytest.raises(ConfigError, match=r"--prompt 200 and --tokens 57 make 257.* is 256") as caught:
            run(*source, *words)
        assert caught.value.codes.exit == 2
    with pytest.raises(ConfigError, match=r"make 1025 ids, the context of gpt2 is 1024"):
        run("--random", "gpt2", "--prompt", 1000, "--tokens", 25, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_more_rows_than_a_package_has_blocks_for_are_refused(tiny_package: Path, tmp_path: Path):  # noqa: F811
    with pytest.raises(ConfigError, match=r"--batch 200 .* needs 12801 KV blocks.* has 8192"):
        run(
            *("--package", tiny_package, "--batch", "1,200"),
            *("--prompt", 128, "--tokens", 128, "--out", tmp_path / "out"),
        )


def test_a_package_without_kv_memory_is_refused(tiny_stateless_package: Path, tmp_path: Path):  # noqa: F811
    with pytest.raises(PackageError, match="stateless"):
        run("--package", tiny_stateless_package, "--out", tmp_path / "out")


def test_a_checkpoint_in_shards_is_measured(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "sharded", num_layers=1)
    _shard(checkpoint)
    words = ["--checkpoint", checkpoint, "--xla", "off", "--batch", 1, "--prompt", 4, "--tokens", 4]
    words += ["--peers", "llamacpp", "--rounds", 1, "--threads", 1, "--json", "--out", tmp_path / "out"]
    result = json.loads(run(*words).stdout)
    assert [line["engine"] for line in result["summary"]] == ["tokenmill"]
    assert result["package"] is None


def test_a_package_used_again_must_have_room_for_what_is_asked_now(tiny_checkpoint: Path, tmp_path: Path):  # noqa: F811
    words = ["--checkpoint", tiny_checkpoint, "--xla", "off", "--batch", 1, "--peers", "none", "--steps", 1]
    words += ["--rounds", 1, "--threads", 1, "--out", tmp_path, "--prompt", 4]
    run(*words, "--tokens", 4)
    with pytest.raises(ConfigError, match=r"KV blocks"):
        run(*words, "--tokens", 250, "--reuse", "--batch", 9)


def test_a_package_beside_a_peer_that_is_not_there(tiny_package: Path, tmp_path: Path):  # noqa: F811
    words = ["--package", tiny_package, "--batch", "1,2", "--prompt", 4, "--tokens", 6, "--steps", 2]
    words += ["--peers", "llamacpp", "--rounds", 2, "--threads", 1, "--sampled", "--json"]
    result = json.loads(run(*words, "--out", tmp_path / "out", "--profile", tmp_path / "trace").stdout)
    assert [(line["batch"], line["engine"]) for line in result["summary"]] == [
        (1, "tokenmill float32 without XLA"),
        (1, "tokenmill float32 without XLA sampled"),
        (2, "tokenmill float32 without XLA"),
        (2, "tokenmill float32 without XLA sampled"),
    ]
    assert result["settings"]["xla"] == "off"
    assert (result["package"]["dtype"], result["package"]["profile"]) == ("float32", "off")
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


@pytest.mark.parametrize(
    ("profile", "wrong"), [("off", []), ("latency", ["batch 8"]), ("throughput", ["batch 1"])]
)
def test_the_table_says_which_batches_a_profile_is_not_for(profile: str, wrong: list[str]):
    line = {"engine": f"tokenmill int8 {profile}", "step_ms": 1.0, "tokens_per_second": 1.0, "first_ms": 1.0}
    line |= {"step_ratio": None, "first_ratio": None, "of_limit": None, "compared_tokens": 0}
    result = {
        "machine": {"read_bandwidth": None},
        "package": {"dtype": "int8", "profile": profile, "cores": 1},
        "summary": [{"batch": batch, **line} for batch in (1, 8)],
        "scaling": {},
        "missing": {},
    }
    text = _text(bench_tables(result)[1])
    assert f"int8 weights, profile {profile}" in text
    assert [batch for batch in ("batch 1", "batch 8") if f"{batch} " in text] == wrong
    assert ("which is for" in text) == bool(wrong)


def _text(table: DataTable) -> str:
    with (console := Console(width=120)).capture() as captured:
        console.print(table)
    return captured.get()


def _shard(checkpoint: Path) -> None:
    tensors = load_file(checkpoint / "model.safetensors")
    names = sorted(tensors)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, part in parts.items():
        save_file({name: tensors[name] for name in part}, checkpoint / file)
    weight_map = {name: file for file, part in parts.items() for name in part}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (checkpoint / "model.safetensors").unlink()


def _traced_planes(directory: Path) -> list[str]:
    """Names of the planes in the one trace, where TensorBoard's profile plugin looks for it."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    (file,) = directory.glob("plugins/profile/*/*.xplane.pb")
    return [plane.name for plane in xplane_pb2.XSpace.FromString(file.read_bytes()).planes if plane.lines]
