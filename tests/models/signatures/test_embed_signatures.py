"""Texts as vectors, through the tokenizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from models.signatures.embed_signatures import EmbedSignatures
from models.signatures.tensor_specs import input_specs
from models.signatures.text_signatures import TextSignatures
from preprocessing.tokenizers import load_tokenizer

MAX_LENGTH = 40
TEXTS = ["the cat sat on the mat", "", "def add(a, b):", "naïve 🙂"]


@pytest.fixture(scope="module")
def decoder(tiny_checkpoint: Path) -> Decoder:
    return load_checkpoint(tiny_checkpoint)


@pytest.fixture(scope="module")
def text(tiny_checkpoint: Path) -> TextSignatures:
    return TextSignatures(load_tokenizer(tiny_checkpoint))


@pytest.fixture(scope="module")
def embed(decoder: Decoder, text: TextSignatures) -> tf.types.experimental.PolymorphicFunction:
    endpoint = EmbedSignatures(decoder, text, MAX_LENGTH).endpoints()["embed"]
    return tf.function(endpoint, input_signature=input_specs("embed"), autograph=False)


def test_an_embedding_is_the_mean_over_the_texts_tokens(
    decoder: Decoder, text: TextSignatures, embed: tf.types.experimental.PolymorphicFunction
):
    result = embed(tf.constant(TEXTS))
    rows = text.prompt(tf.constant(TEXTS)).to_list()
    assert result["tokens"].numpy().tolist() == [len(row) for row in rows]
    for row, ids in enumerate(rows):
        found = result["embedding"][row].numpy()
        if not ids:
            assert not found.any()
            continue
        x = decoder.final(decoder.features(tf.constant([ids], tf.int32)))[0]
        np.testing.assert_allclose(found, x.numpy().mean(0), rtol=1e-4, atol=1e-5)


def test_a_text_alone_has_the_same_embedding(embed: tf.types.experimental.PolymorphicFunction):
    together = embed(tf.constant(TEXTS))["embedding"].numpy()
    for row, text in enumerate(TEXTS):
        alone = embed(tf.constant([text]))["embedding"].numpy()
        np.testing.assert_allclose(alone[0], together[row], rtol=1e-4, atol=1e-5)


def test_a_text_longer_than_the_context_is_refused_naming_the_limit(
    embed: tf.types.experimental.PolymorphicFunction,
):
    embed(tf.constant(["x" * MAX_LENGTH]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"`text` exceeds the context of {MAX_LENGTH}"):
        embed(tf.constant(["short", "x" * (MAX_LENGTH + 1)]))


def test_no_texts_give_no_rows(embed: tf.types.experimental.PolymorphicFunction):
    result = embed(tf.constant([], tf.string))
    assert [value.shape[0] for value in result.values()] == [0, 0]
