"""SmolLM2's and GPT-2's tokenizers against Hugging Face's, and known answers."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import keras
import pytest
import tensorflow as tf
from tokenizers import Tokenizer

from models.contract.vocab import read_vocab, write_vocab
from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from serving.engine.incremental_detokenizer import IncrementalDetokenizer
from tests.preprocessing.tokenizers import vocabularies

CASES = json.loads((Path(__file__).parents[2] / "data/cases/tokenizer.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Real:
    name: str
    path: Path
    tokenizer: GraphTokenizer
    reference: Tokenizer

    def pieces(self) -> list[str]:
        return [token.decode("utf-8", "replace") for token in self.tokenizer.token_bytes[:20000]]


@pytest.fixture(scope="module")
def smollm2(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Real:
    return _real("smollm2", vocabularies.smollm2_json(smollm2_gguf), tmp_path_factory.mktemp("smollm2"))


@pytest.fixture(scope="module")
def gpt2(gpt2_vocab_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Real:
    return _real("gpt2", vocabularies.gpt2_json(gpt2_vocab_dir), tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(params=["smollm2", "gpt2"])
def real(request: pytest.FixtureRequest) -> Real:
    return request.getfixturevalue(request.param)


def _real(name: str, text: str, directory: Path) -> Real:
    path = directory / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    return Real(name, path, load_tokenizer(path), vocabularies.reference(path))


def test_known_texts_have_their_known_ids(real: Real):
    ids = real.tokenizer.encode_batch([case["text"] for case in CASES])
    assert ids == [case[real.name] for case in CASES]


def test_known_ids_give_back_their_texts(real: Real):
    ids = tf.ragged.constant([case[real.name] for case in CASES], tf.int32)
    texts = [text.decode() for text in real.tokenizer.decode(ids).numpy()]
    assert texts == [case["text"] for case in CASES]


def test_nasty_texts_have_the_references_ids(real: Real):
    texts = vocabularies.nasty_texts(1, 6000, real.pieces())
    ids = real.tokenizer.encode_batch(texts)
    expected = vocabularies.reference_ids(real.reference, texts)
    assert [text for text, a, b in zip(texts, ids, expected, strict=True) if a != b] == []


def test_no_text_becomes_a_special_id(real: Real):
    names = list(real.tokenizer.special_ids)
    texts = vocabularies.nasty_texts(2, 2000, [*names, *names, "<", "|>", " ", "a"])
    special = set(real.tokenizer.special_ids.values())
    assert all(special.isdisjoint(ids) for ids in real.tokenizer.encode_batch(texts))


def test_names_of_special_tokens_become_ids_on_demand(real: Real):
    names = list(real.tokenizer.special_ids)
    texts = vocabularies.nasty_texts(3, 2000, [*names, *names, "<", "|>", "'s", " ", "a"])
    reference = Tokenizer.from_file(str(real.path))
    expected = vocabularies.reference_ids(reference, texts)
    assert real.tokenizer.encode_batch(texts, with_special=True) == expected
    assert any(set(real.tokenizer.special_ids.values()) & set(ids) for ids in expected)


def test_decoding_any_ids_equals_the_reference(real: Real):
    rows = _random_rows(real.tokenizer.vocab_size, 500)
    texts = [text.decode() for text in real.tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy()]
    assert texts == [real.reference.decode(row, skip_special_tokens=False) for row in rows]


def test_the_engines_vocabulary_file_gives_the_same_text(real: Real, tmp_path: Path):
    write_vocab(tmp_path / "vocab.bin", real.tokenizer.token_bytes)
    vocab = read_vocab(tmp_path / "vocab.bin")
    rows = _random_rows(real.tokenizer.vocab_size, 100)
    texts = [text.decode() for text in real.tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy()]
    for row, text in zip(rows, texts, strict=True):
        detokenizer = IncrementalDetokenizer(vocab)
        assert "".join(detokenizer.append([index]) for index in row) + detokenizer.finish() == text


def test_saved_and_moved_graphs_need_only_tensorflow(smollm2: Real, gpt2: Real, tmp_path: Path):
    both = (smollm2, gpt2)
    for real in both:
        _save(real.tokenizer, tmp_path / real.name)
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    texts = [case["text"] for case in CASES]
    result = subprocess.run(
        [sys.executable, "-c", _LOADER, json.dumps(texts), *(str(moved / real.name) for real in both)],
        capture_output=True,
        check=True,
        cwd=moved,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    for real, line in zip(both, result.stdout.splitlines(), strict=True):
        loaded = json.loads(line)
        assert loaded["ids"] == [case[real.name] for case in CASES]
        assert not {op for op in loaded["ops"] if "Py" in op or "Table" in op}
        assert list((moved / real.name / "assets").glob("*")) == []
        assert (moved / real.name / "saved_model.pb").stat().st_size < 4_000_000


def _save(tokenizer: GraphTokenizer, directory: Path) -> None:
    archive = keras.export.ExportArchive()
    archive.track(tokenizer)
    text = tf.TensorSpec([None], tf.string, name="text")
    tokenize = tf.function(
        lambda text: _flat(tokenizer.encode(text)), input_signature=[text], autograph=False
    )
    archive.add_endpoint("tokenize", tokenize)
    archive.write_out(str(directory), verbose=False)


def _flat(ids: tf.RaggedTensor) -> dict[str, tf.Tensor]:
    return {"ids": ids.values, "row_splits": ids.row_splits}


def _random_rows(vocab_size: int, count: int) -> list[list[int]]:
    rng = random.Random(4)
    return [[rng.randrange(vocab_size) for _ in range(rng.randrange(1, 30))] for _ in range(count)]


_LOADER = """
import json, sys
import tensorflow as tf, tensorflow_text
texts = json.loads(sys.argv[1])
for path in sys.argv[2:]:
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        model = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = model.signature_def["tokenize"]
        names = {key: info.name for key, info in signature.outputs.items()}
        out = session.run(names, {signature.inputs["text"].name: texts})
        definition = graph.as_graph_def()
    functions = definition.library.function
    ops = {node.op for node in definition.node} | {n.op for f in functions for n in f.node_def}
    splits = out["row_splits"].tolist()
    ids = [out["ids"][a:b].tolist() for a, b in zip(splits, splits[1:])]
    print(json.dumps({"ids": ids, "ops": sorted(ops)}))
"""
