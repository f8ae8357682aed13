"""A checkpoint that has only a SentencePiece model file: import, export, answers, and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.contract.manifest import Manifest
from models.contract.sampling_params import SamplingParams
from models.export import GOLDEN_TEXTS, export_package
from models.export_options import ExportOptions
from models.hf_export import export_hf
from models.hf_import import import_hf
from preprocessing.tokenizers import load_tokenizer
from serving.engine.incremental_detokenizer import IncrementalDetokenizer
from serving.runners.local_runner import LocalRunner
from tests.tiny_sentencepiece import write_sentencepiece_checkpoint

TEXTS = ["def the ring", "naïve 東京 🙂 12", "  in the\n\tre", "</s>[INST]"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sentencepiece")
    import_hf(str(write_sentencepiece_checkpoint(folder / "source")), folder / "checkpoint")
    return folder / "checkpoint"


@pytest.fixture(scope="module")
def package(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ExportOptions(model_name="tiny", stateless=True)
    return export_package(checkpoint, tmp_path_factory.mktemp("packages") / "tiny", options, version=1)


@pytest.fixture(scope="module")
def runner(package: Path):
    with LocalRunner(package) as runner:
        yield runner


def test_the_manifest_names_the_kind_and_its_golden_ids(package: Path, checkpoint: Path):
    info = Manifest.load(package).tokenizer
    tokenizer = load_tokenizer(checkpoint)
    assert (info.kind, info.fingerprint, info.add_bos) == ("sentencepiece", tokenizer.fingerprint, True)
    assert info.golden[-1] == (GOLDEN_TEXTS[-1], (1, *tokenizer.encode_batch([GOLDEN_TEXTS[-1]])[0]))


def test_text_goes_to_ids_as_outside_the_package(runner: LocalRunner, checkpoint: Path):
    assert runner.tokenize(TEXTS) == [[1, *row] for row in load_tokenizer(checkpoint).encode_batch(TEXTS)]


@pytest.mark.soak
def test_an_answer_has_the_text_that_the_engine_would_send(runner: LocalRunner):
    """It continues its prompt: neither drops a space that it begins with."""
    answers = runner.generate(TEXTS, SamplingParams(max_tokens=12, temperature=0.0))
    for answer in answers:
        detokenizer = IncrementalDetokenizer(runner.vocab)
        ids = answer.ids[:-1] if answer.ids[-1] in runner.manifest.eos_ids else answer.ids
        assert detokenizer.append(ids) + detokenizer.finish() == answer.text


def test_the_checkpoint_comes_back_with_its_files(package: Path, checkpoint: Path, tmp_path: Path):
    export_hf(package, tmp_path / "hf")
    names = {path.name for path in checkpoint.iterdir()}
    assert {path.name for path in (tmp_path / "hf").iterdir()} == names
    assert "tokenizer.json" not in names
    for name in names - {"model.safetensors"}:
        assert (tmp_path / "hf" / name).read_bytes() == (checkpoint / name).read_bytes()
