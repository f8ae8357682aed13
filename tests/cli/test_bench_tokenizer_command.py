from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli import bench_tokenizer_beam
from cli.bench_command import command
from cli.bench_tokenizer_peers import peers
from cli.bench_tokenizer_plan import TokenizerBenchPlan
from cli.bench_tokenizer_table import tokenizer_tables
from models.contract.errors import CheckpointError, ConfigError, DataError
from pipeline.terminal import PlainConsole
from preprocessing.preprocessing_fn import TOKENIZER, transform_config
from preprocessing.tokenizers import write_byte_tokenizer
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.word_pattern import WordPattern
from serving.benchmarks.tokenizer_texts import FAMILIES
from tests.preprocessing.tokenizers import vocabularies
from tests.preprocessing.tokenizers.test_sentencepiece_json import LEGACY, converted


def run(*words: object) -> Any:
    return CliRunner().invoke(
        command, ["tokenizer", *map(str, words)], catch_exceptions=False, standalone_mode=False
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    return vocabularies.write(folder / "tokenizer.json", vocabularies.small_json(digits=True))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_text("It's 1234 tokens, isn't  it?\n\n naïve 日本語 \u0661\u0662 \t " * 200, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(file: Path, text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    plan = TokenizerBenchPlan(
        tokenizer=file.parent,
        texts=(text,),
        parts=("speed", "latency", "growth", "stages"),
        batches=2,
        batch_bytes=3000,
        rounds=1,
        threads=1,
        beam=False,
        out=tmp_path_factory.mktemp("out"),
        growth_bytes=2000,
    )
    result = plan.run(lambda line: None)
    assert json.loads((plan.out / "tokenizer.json").read_text()) == result
    return result


def test_ids_of_all_tokenizers_are_the_same(result: dict[str, Any]):
    summary = result["speed"]["summary"]
    assert [line["tokenizer"] for line in summary] == ["tokenmill", "tokenizers", "tiktoken"]
    assert {line["equal_documents"] for line in summary} == {summary[0]["documents"]}
    assert result["missing"] == {}


def test_every_length_and_family_is_measured(result: dict[str, Any]):
    assert [line["bytes"] for line in result["latency"]] == [200, 1000, 4000, 100_000]
    assert [line["family"] for line in result["growth"]] == list(FAMILIES)
    assert set(result["single_word"]["seconds"]) == {"tokenmill", "tokenizers", "tiktoken"}


def test_people_get_tables(result: dict[str, Any]):
    console = PlainConsole(width=120)
    with console.capture() as captured:
        for table in tokenizer_tables({**result, "beam": {"marginal_megabytes_per_second": 1.25}}):
            console.print(table)
    for word in ("tokenizers", "100,000 B", "one letter", "stage", "package part", "1.25 MB/s"):
        assert word in captured.get()


def test_a_part_is_measured_alone(file: Path, text: Path, tmp_path: Path):
    words = ["--tokenizer", file, "--text", text, "--part", "speed", "--batches", 1, "--batch-kb", 1]
    output = run(*words, "--rounds", 1, "--threads", 1, "--out", tmp_path, "--json").stdout
    assert {"speed", "latency"} & json.loads(output).keys() == {"speed"}


def test_what_more_text_costs_in_beam(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    done: list[int] = []
    monkeypatch.setattr(bench_tokenizer_beam, "_documents", lambda size: [b"x" * (size // 2)] * 2)
    monkeypatch.setattr(bench_tokenizer_beam, "_transform", lambda folder, texts: done.append(len(texts)))
    monkeypatch.setattr(bench_tokenizer_beam.time, "monotonic", iter([0.0, 10.0, 20.0, 34.0]).__next__)
    result = bench_tokenizer_beam.beam_speed(tmp_path, lambda line: None)
    assert result["seconds"] == {"2000000": 10.0, "10000000": 14.0}
    assert result["marginal_megabytes_per_second"] == pytest.approx(2.0)
    assert done == [1, 2, 2]


@pytest.mark.parametrize("pattern", [WordPattern.GPT2, WordPattern.GPT2_DIGITS])
def test_tiktokens_pattern_splits_alike(pattern: WordPattern, tmp_path: Path):
    value = vocabularies.small_json(digits=pattern == WordPattern.GPT2_DIGITS)
    path = vocabularies.write(tmp_path / "tokenizer.json", value)
    texts = ["a  1", " 1 2", "x's''s 12.5", "a \n\n b", "  ", "\t1", "don't12 3", "'1", "é 日本 1"]
    texts += [text for text in vocabularies.nasty_texts(5, 300) if isinstance(text, str) and text.isascii()]
    (reference, peer), missing = peers(path, read_spec(path), threads=1)
    assert missing == {}
    raw = [text.encode() for text in texts]
    rows = [one.ids(one.encode(one.prepare(raw))) for one in (reference, peer)]
    assert rows[0] == rows[1]


def test_tiktoken_has_no_vocabulary_that_is_not_of_bytes_merged(tmp_path: Path):
    (tmp_path / "bytes").mkdir()
    write_byte_tokenizer(tmp_path / "bytes")
    pieces = vocabularies.write(tmp_path / "tokenizer.json", converted(**LEGACY))
    for path, kind in ((tmp_path / "bytes" / "tokenizer.json", "bytes"), (pieces, "sentencepiece")):
        found, missing = peers(path, read_spec(path), threads=1)
        assert [one.name for one in found] == ["tokenizers"]
        assert missing == {"tiktoken": f"it has byte-level BPE, this is of kind {kind}"}


def test_beam_measures_the_file_that_is_given(
    file: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = vocabularies.write(tmp_path / "other.json", json.loads(file.read_text()))
    write_byte_tokenizer(tmp_path)
    measured: list[Path] = []
    monkeypatch.setattr(bench_tokenizer_beam, "beam_speed", lambda path, tell: measured.append(path))
    words = ["--tokenizer", other, "--text", text, "--part", "speed", "--batches", 1, "--batch-kb", 1]
    run(*words, "--rounds", 1, "--threads", 1, "--out", tmp_path / "out", "--beam", "--json")
    assert measured == [other]
    assert transform_config(other)[TOKENIZER] == str(other)


def test_faults_are_told_by_name(file: Path, tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"tokenizer\.json|missing"):
        run("--tokenizer", tmp_path / "missing", "--out", tmp_path)
    with pytest.raises(DataError, match="nothing"):
        run("--tokenizer", file, "--text", tmp_path / "nothing", "--out", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="--out"):
        run("--tokenizer", file, "--out", tmp_path / "file" / "out")
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="no text"):
        run("--tokenizer", file, "--text", tmp_path / "empty", "--out", tmp_path)
