"""The mill without a pretrained model: vocabulary, random weights, training, blessing, push, generation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.contract.manifest import Manifest
from preprocessing.tokenizers import load_tokenizer
from tests.e2e.mill import Mill, make_mill, standing_in, tokenmill, tokenmill_json

pytestmark = pytest.mark.slow

SCRATCH = {"hidden_size": 32, "layers": 2, "heads": 4, "kv_heads": 2, "context": 128}
VOCABULARY = {"size": 285, "specials": ["<|endoftext|>", "<|pad|>"]}
TRAINING = {"sequence_length": 128, "batch_size": 4, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mill]:
    folder = tmp_path_factory.mktemp("scratch")
    with standing_in(folder):
        yield make_mill(folder)


def _config(mill: Mill, name: str, tokens: int, **vocabulary: Any) -> str:
    scratch = {**SCRATCH, "vocabulary": {**VOCABULARY, **vocabulary}}
    model = {"name": "tiny", "from_scratch": scratch}
    changes = {"training": {**TRAINING, "tokens": tokens}, "gate": {"max_fraction": 0.1}}
    return str(mill.write(name, model=model, **changes))


def test_1_a_run_without_a_checkpoint_is_blessed_pushed_and_generates(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    record = tokenmill_json(capfd, "run", "--config", _config(mill, "first", 12_000))
    assert (record["state"], record["baseline"]) == ("pushed", "untrained model")
    # Random weights know nothing: any token is about as likely as any other.
    assert 200 < record["baseline_perplexity"] < 450
    assert record["perplexity"] < 30
    assert not any("completions" in reason.lower() for reason in record["reasons"])
    outputs = {one["id"]: one["outputs"] for one in record["components"]}
    vocabulary = Path(outputs["VocabularyTrainer"]["vocabulary"])
    manifest = Manifest.load(Path(record["pushed_path"]))
    assert manifest.tokenizer.fingerprint == load_tokenizer(vocabulary).fingerprint
    assert record["vocabulary"]["fingerprint"] == manifest.tokenizer.fingerprint
    assert record["vocabulary"]["size"] == manifest.dims.vocab_size == 285
    assert record["vocabulary"]["bytes_per_token_eval"] > 1.5
    answer = tokenmill_json(capfd, "generate", "--max-tokens", "12", "--temperature", "0", "def function_")
    assert len(answer["ids"]) == 12
    tokenmill("runs", "show")
    assert "285 tokens, " in capfd.readouterr().out


def test_2_a_second_run_takes_the_same_vocabulary_and_compares_with_the_first(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    (first,) = mill.versions()
    record = tokenmill_json(capfd, "run", "--config", _config(mill, "second", 16_000))
    states = {one["id"]: one["state"] for one in record["components"]}
    assert [states[name] for name in ("VocabularyTrainer", "InitialModel", "Transform")] == ["cached"] * 3
    assert record["baseline"] == f"pushed version {first}"
    tokenmill("runs", "lineage")
    assert "untrained model" in capfd.readouterr().out
    report = json.loads((Path(record["report_path"]).parent / "report.json").read_text())
    assert report["lineage"]["baseline"]["kind"] == "package"
