from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensorflow as tf

from components.vocabulary_trainer.make_vocabulary import make_vocabulary
from components.vocabulary_trainer.split_texts import SplitTexts
from models.contract.errors import DataError
from preprocessing.tokenizers import load_tokenizer
from preprocessing.vocabulary_config import VocabularyConfig

TRAIN = {f"{name}.py": f"def {name}(value):\n    return value + {name}\n" * 20 for name in ("alpha", "beta")}
HELD_OUT = {"gamma.py": "def gamma(value):\n    return value\n"}
CONFIG = VocabularyConfig(size=280)


def _write(folder: Path, split: str, texts: dict[str, str]) -> None:
    options = tf.io.TFRecordOptions("GZIP")
    (folder / f"Split-{split}").mkdir(parents=True)
    with tf.io.TFRecordWriter(str(folder / f"Split-{split}" / "data.gz"), options) as writer:
        for path, text in texts.items():
            values = {"text": text.encode(), "source": b"code", "path": path.encode()}
            feature = {
                name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
                for name, value in values.items()
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    _write(tmp_path / "examples", "train", TRAIN)
    _write(tmp_path / "examples", "eval", HELD_OUT)
    return tmp_path / "examples"


def test_texts_of_a_split_are_sampled_by_bytes(examples: Path):
    texts = SplitTexts(examples, "train")
    size = sum(map(len, TRAIN.values()))
    assert (len(texts), texts.num_bytes, texts.sample_bytes(10**9)) == (2, size, (2, size))
    assert sorted(texts.sample(10**9)) == sorted(TRAIN.values())
    assert sum(map(len, texts.sample(100))) == 100
    assert texts.sample_bytes(100) == (1, 100)


def test_only_the_training_split_is_learned_from(examples: Path, tmp_path: Path):
    found = make_vocabulary(examples, tmp_path / "out", CONFIG)
    assert json.loads((tmp_path / "out" / "vocabulary_report.json").read_text()) == found
    loaded = load_tokenizer(tmp_path / "out")
    assert (found["size"], found["fingerprint"]) == (280, loaded.fingerprint)
    assert any(b"alpha" in token for token in loaded.token_bytes)
    assert not any(b"gamma" in token for token in loaded.token_bytes)
    assert found["corpus_bytes"] == sum(map(len, TRAIN.values()))
    (ids,) = loaded.encode_batch(list(HELD_OUT.values()))
    measured = found["splits"]["eval"]
    assert (measured["tokens"], measured["distinct_tokens"]) == (len(ids), len(set(ids)))
    assert measured["bytes_per_token"] == pytest.approx(len(HELD_OUT["gamma.py"]) / len(ids), abs=1e-3)
    assert found["splits"]["train"]["bytes_per_token"] > measured["bytes_per_token"]


def test_a_tokenizer_that_is_there_is_taken_as_it_is(examples: Path, tmp_path: Path):
    made = make_vocabulary(examples, tmp_path / "made", CONFIG)
    taken = make_vocabulary(examples, tmp_path / "taken", VocabularyConfig(tokenizer=tmp_path / "made"))
    assert (taken["fingerprint"], taken["corpus_bytes"]) == (made["fingerprint"], 0)
    files = [(tmp_path / name / "tokenizer.json").read_bytes() for name in ("made", "taken")]
    assert files[0] == files[1]


def test_a_corpus_without_text_is_refused(tmp_path: Path):
    _write(tmp_path / "examples", "train", {})
    with pytest.raises(DataError, match="no text to make a vocabulary of: 0 training documents"):
        make_vocabulary(tmp_path / "examples", tmp_path / "out", CONFIG)
