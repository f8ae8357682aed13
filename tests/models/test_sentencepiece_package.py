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
from serving.runners.local_stream import stream_locally
from tests.tiny_sentencepiece import write_sentencepiece_checkpoint

TEXTS = ["def the ring", "naïve 東京 🙂 12", "  in the\n\tre", "</s>[INST]"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sentencepiece")
    import_hf(str(write_sentencepiece_checkpoint(folder / "source")), folder / "checkpoint")
    return folder / "checkpoint"


@pytest.fixture(scope="module")
def package(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ExportOptions(model_name="tiny", block_size=4, num_blocks=64)
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


def test_text_goes_to_ids_and_back_as_outside_the_package(runner: LocalRunner, checkpoint: Path):
    ids = runner.tokenize(TEXTS)
    assert ids == [[1, *row] for row in load_tokenizer(checkpoint).encode_batch(TEXTS)]
    assert runner.detokenize([row[1:] for row in ids]) == TEXTS
    assert runner.tokenize_segments([[1, 3, TEXTS[-1], 4]]) == [[1, 3, *ids[-1][1:], 4]]


def test_the_engine_and_the_graph_give_the_same_answer(runner: LocalRunner):
    """An answer continues its prompt: neither drops a space that it begins with."""
    params = SamplingParams(max_tokens=8, temperature=0.0)
    for answer, prompt in zip(runner.generate(TEXTS[:2], params), TEXTS, strict=False):
        outputs = list(stream_locally(runner, prompt, params))
        assert [token.id for output in outputs for token in output.tokens] == answer.ids
        assert "".join(output.text_delta for output in outputs) == answer.text


def test_the_vocabulary_file_gives_the_texts_of_the_graph(runner: LocalRunner, checkpoint: Path):
    ids = list(range(load_tokenizer(checkpoint).vocab_size))
    detokenizer = IncrementalDetokenizer(runner.vocab)
    text = detokenizer.append([*ids[3:], *ids[:3]]) + detokenizer.finish()
    assert text == runner.detokenize([[ids[3], *ids[4:], *ids[:3]]])[0]


def test_the_checkpoint_comes_back_with_its_files(package: Path, checkpoint: Path, tmp_path: Path):
    export_hf(package, tmp_path / "hf")
    names = {path.name for path in checkpoint.iterdir()}
    assert {path.name for path in (tmp_path / "hf").iterdir()} == names
    assert "tokenizer.json" not in names
    for name in names - {"model.safetensors"}:
        assert (tmp_path / "hf" / name).read_bytes() == (checkpoint / name).read_bytes()
