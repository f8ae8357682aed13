from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from preprocessing.tokenizers.merge_rules import made_tokens
from preprocessing.tokenizers.sentencepiece_model import sentencepiece_model
from preprocessing.tokenizers.sentencepiece_operation import SentencepieceOperation
from tests.preprocessing.tokenizers import vocabularies

TEXTS = ["the", "", "thethe=="]


@pytest.fixture(scope="module")
def model() -> bytes:
    vocab, rules = vocabularies.small_vocabulary()
    made = made_tokens(vocab, tuple((left, right) for left, right in rules))
    return sentencepiece_model(vocab, made, whole=[], vocab_size=len(vocab))


@pytest.fixture(scope="module")
def package(model: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tf.Module()
    root.operation = SentencepieceOperation(model)
    text = tf.TensorSpec([None], tf.string, name="text")
    signatures = {
        name: tf.function(
            lambda text: {"ids": root.operation.tokenize(text).values},
            input_signature=[text],
            autograph=False,
        ).get_concrete_function()
        for name in ("one", "other")
    }
    folder = tmp_path_factory.mktemp("saved")
    tf.saved_model.save(root, str(folder / "written"), signatures)
    return (folder / "written").rename(folder / "moved")


def test_the_ids_are_those_of_tensorflow_text(model: bytes):
    expected = tf_text.SentencepieceTokenizer(model=model).tokenize(TEXTS)
    assert SentencepieceOperation(model).tokenize(tf.constant(TEXTS)).to_list() == expected.to_list()


def test_a_saved_model_holds_the_model_once(model: bytes, package: Path):
    assert (package / "saved_model.pb").read_bytes().count(model) == 1


def test_both_loaders_make_the_model(model: bytes, package: Path):
    expected = SentencepieceOperation(model).tokenize(tf.constant(TEXTS)).values.numpy().tolist()
    loaded = tf.saved_model.load(str(package))
    for name in ("one", "other"):
        assert loaded.signatures[name](text=tf.constant(TEXTS))["ids"].numpy().tolist() == expected
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signatures = tf.compat.v1.saved_model.load(session, ["serve"], str(package)).signature_def
        for name in ("one", "other"):
            inputs, outputs = signatures[name].inputs, signatures[name].outputs
            ids = session.run(outputs["ids"].name, {inputs["text"].name: TEXTS})
            assert ids.tolist() == expected


def test_a_graph_of_version_1_that_nobody_saves_has_the_model(model: bytes):
    expected = SentencepieceOperation(model).tokenize(tf.constant(TEXTS)).values.numpy().tolist()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        ids = SentencepieceOperation(model).tokenize(tf.constant(TEXTS)).values
        assert session.run(ids).tolist() == expected


def test_models_do_not_take_each_others_place(model: bytes):
    vocab, _ = vocabularies.small_vocabulary()
    letters = SentencepieceOperation(sentencepiece_model(vocab, [], whole=[], vocab_size=len(vocab)))
    assert letters.tokenize(tf.constant(["thethe"])).row_lengths().numpy().tolist() == [6]
    assert SentencepieceOperation(model).tokenize(tf.constant(["thethe"])).row_lengths().numpy()[0] < 6
