from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import load_file, save_file

from cli.main import cli
from models.contract.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    NotBlessedError,
    PackageError,
    TokenmillError,
)
from models.contract.manifest import MANIFEST_PATH, Manifest
from tests.tiny import MERGES, TINY, tokenizer_json, write_tiny_checkpoint

TEXT = "def the thing:\n    the 12 re on\n" * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    write_tiny_checkpoint(folder / "checkpoint")
    (folder / "text.txt").write_text(TEXT)
    return folder


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["evaluate", *map(str, arguments)])


def _figures(folder: Path, *arguments: object) -> dict[str, float]:
    common = ("--checkpoint", folder / "checkpoint", "--text", folder / "text.txt", "--json")
    result = _run(*common, *arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_json_holds_the_figures_and_nothing_else(folder: Path):
    figures = _figures(folder, "--context", 16, "--stride", 8)
    assert list(figures) == ["nll_sum", "scored", "perplexity", "bits_per_byte"]
    assert figures["perplexity"] == pytest.approx(math.exp(figures["nll_sum"] / figures["scored"]))


@pytest.mark.parametrize("stride", [8, 16])
def test_bits_per_byte_are_over_the_bytes_of_the_scored_tokens(folder: Path, stride: int):
    from tokenizers import Tokenizer

    figures = _figures(folder, "--context", 16, "--stride", stride)
    # Letters of byte-level BPE stand for one byte each.
    counts = [
        len(t) for t in Tokenizer.from_file(str(folder / "checkpoint/tokenizer.json")).encode(TEXT).tokens
    ]
    assert sum(counts) == len(TEXT)
    starts = range(0, len(counts), stride)
    unscored = {0} if stride < 16 else set(starts)
    num_bytes = sum(count for place, count in enumerate(counts) if place not in unscored)
    assert figures["bits_per_byte"] == pytest.approx(figures["nll_sum"] / math.log(2) / num_bytes)


def test_the_batch_size_does_not_matter(folder: Path):
    one, many = (_figures(folder, "--context", 16, "--batch-size", size) for size in (1, 7))
    assert one["nll_sum"] == pytest.approx(many["nll_sum"], rel=1e-5)
    assert one["scored"] == many["scored"]


def test_the_default_stride_is_half_the_context(folder: Path):
    assert _figures(folder, "--context", 16) == _figures(folder, "--context", 16, "--stride", 8)


def test_the_default_context_is_what_the_model_takes_if_that_is_less_than_512(folder: Path):
    assert _figures(folder) == _figures(folder, "--context", TINY.max_length)


def test_a_longer_context_than_the_text_scores_all_but_the_first_token(folder: Path):
    from tokenizers import Tokenizer

    ids = Tokenizer.from_file(str(folder / "checkpoint" / "tokenizer.json")).encode(TEXT).ids
    assert _figures(folder, "--context", 256)["scored"] == len(ids) - 1


def test_a_package_and_its_checkpoint_agree(folder: Path, tiny_checkpoint: Path, tiny_package: Path):
    common = ("--text", folder / "text.txt", "--context", 32, "--stride", 16, "--json")
    package, base, checkpoint = (
        json.loads(_run(option, path, *common).stdout)
        for option, path in (
            ("--package", tiny_package),
            ("--package", tiny_package.parent),
            ("--checkpoint", tiny_checkpoint),
        )
    )
    assert package == base
    assert package == pytest.approx(checkpoint, rel=1e-5)


def test_people_get_a_sentence(folder: Path):
    result = _run("--checkpoint", folder / "checkpoint", "--text", folder / "text.txt", "--context", 16)
    assert "perplexity" in result.stdout
    assert "bits per byte" in result.stdout


@pytest.mark.parametrize("as_json", [True, False])
def test_a_loss_that_is_not_a_number_is_null_in_json_and_an_error(
    folder: Path, tmp_path: Path, as_json: bool
):
    write_tiny_checkpoint(tmp_path / "nan")
    weights = load_file(tmp_path / "nan" / "model.safetensors")
    weights["model.norm.weight"][:] = math.nan
    save_file(weights, tmp_path / "nan" / "model.safetensors")
    arguments = ("--checkpoint", tmp_path / "nan", "--text", folder / "text.txt")
    result = _run(*arguments, *(["--json"] if as_json else []))
    assert isinstance(result.exception, NotBlessedError)
    assert result.exception.codes.exit == 5
    assert "predicts NaN or infinite losses" in str(result.exception)
    if as_json:
        figures = json.loads(result.stdout)
        assert figures["perplexity"] is None
        assert figures["scored"] > 0


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (None, "No such file.*existing file"),
        (b"", "is empty"),
        (b"ab\xffcd", "byte 0xff at offset 2.*iconv"),
        (b"a", "1 token.*longer"),
    ],
)
def test_an_unusable_text_is_named_with_a_remedy(
    folder: Path, tmp_path: Path, contents: bytes | None, message: str
):
    file = tmp_path / "bad.txt"
    if contents is not None:
        file.write_bytes(contents)
    result = _run("--checkpoint", folder / "checkpoint", "--text", file)
    _assert_fails(result, DataError, f"bad.txt.*{message}")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ([], ConfigError, "one of --package and --checkpoint"),
        (["--checkpoint", "a", "--package", "b"], ConfigError, "one of --package and --checkpoint"),
        (["--checkpoint", "no-such-folder"], CheckpointError, "no-such-folder"),
        (["--package", "no-such-folder"], PackageError, "no-such-folder"),
        (["--checkpoint", "{checkpoint}", "--context", "1"], ConfigError, "`context` is 1"),
        (["--checkpoint", "{checkpoint}", "--stride", "0"], ConfigError, "`stride` is 0"),
        (
            ["--checkpoint", "{checkpoint}", "--context", str(TINY.max_length + 1)],
            ConfigError,
            f"at most {TINY.max_length}",
        ),
    ],
)
def test_wrong_arguments_are_named(
    folder: Path, arguments: list[str], error: type[TokenmillError], message: str
):
    given = [argument.replace("{checkpoint}", str(folder / "checkpoint")) for argument in arguments]
    _assert_fails(_run("--text", folder / "text.txt", *given), error, message)


def _assert_fails(result: Result, error: type[TokenmillError], message: str) -> None:
    assert isinstance(result.exception, error), result.exception
    with pytest.raises(error, match=message):
        raise result.exception
    assert result.stdout == ""


def _int8(package: Path, target: Path) -> Path:
    """A copy whose manifest says that its weights are quantised."""
    shutil.copytree(package, target)
    manifest = dataclasses.replace(Manifest.load(target), dtype="int8")
    (target / MANIFEST_PATH).write_text(manifest.to_json())
    return target


def test_a_quantised_package_is_held_against_its_parent(
    folder: Path, tmp_path: Path, tiny_checkpoint: Path, tiny_package: Path
):
    package = _int8(tiny_package, tmp_path / "1")
    common = ("--package", package, "--text", folder / "text.txt", "--context", 16, "--parent")
    result = _run(*common, tiny_checkpoint, "--json")
    assert result.exit_code == 0, result.stderr
    figures = json.loads(result.stdout)
    parent = figures["parent"]
    assert (parent["dtype"], parent["baseline_path"]) == ("int8", str(tiny_checkpoint))
    assert parent["perplexity"] == pytest.approx(figures["perplexity"])
    assert parent["ratio"] == pytest.approx(1.0, abs=1e-5)
    assert len(parent["intervals"]["ratio"]) == 2
    assert (parent["check"]["status"], parent["check"]["limit"]) == ("passed", 1.05)
    told = _run(*common, tiny_package).stdout
    assert "With int8 weights perplexity is" in told
    assert "1.0000 × that of the float32 parent" in told


def test_a_loss_above_the_limit_is_exit_code_5_after_the_figures(folder: Path, tiny_checkpoint: Path):
    common = ("--checkpoint", folder / "checkpoint", "--text", folder / "text.txt", "--json")
    result = _run(*common, "--parent", tiny_checkpoint, "--max-parent-ratio", 0.5)
    assert isinstance(result.exception, NotBlessedError)
    assert result.exception.codes.exit == 5
    assert "at most 0.5000 × is allowed" in str(result.exception)
    assert json.loads(result.stdout)["parent"]["check"]["status"] == "failed"


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        (None, ["--max-parent-ratio", "1.1"], "--max-parent-ratio 1.1 .* none is named.*--parent"),
        (
            {"max_length": 64},
            ["--context", "128"],
            "at most 64 tokens, .*--context 64",
        ),
    ],
)
def test_parents_that_cannot_be_compared_with_are_named(
    folder: Path, tmp_path: Path, changes: dict[str, int] | None, arguments: list[str], message: str
):
    given: list[object] = ["--checkpoint", folder / "checkpoint", "--text", folder / "text.txt", *arguments]
    if changes is not None:
        given += ["--parent", write_tiny_checkpoint(tmp_path / "parent", **changes)]
    _assert_fails(_run(*given), ConfigError, message)


def test_a_parent_with_another_tokenizer_or_quantised_itself_is_refused(
    folder: Path, tmp_path: Path, tiny_package: Path
):
    common = ("--checkpoint", folder / "checkpoint", "--text", folder / "text.txt", "--parent")
    other = write_tiny_checkpoint(tmp_path / "other")
    raw = tokenizer_json(MERGES[:4])
    (other / "tokenizer.json").write_text(json.dumps(raw))
    _assert_fails(_run(*common, other), ConfigError, "makes other ids of the text")
    quantised = _int8(tiny_package, tmp_path / "1")
    _assert_fails(_run(*common, quantised), ConfigError, "has int8 weights itself")
