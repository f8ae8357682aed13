from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from components.trainer.sampler import Sampler
from models.checkpoint import load_checkpoint
from preprocessing.tokenizers import load_tokenizer
from tests.tiny import write_tiny_checkpoint


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("sampler"))


def test_a_sample_is_the_greedy_continuation(checkpoint: Path):
    decoder, tokenizer = load_checkpoint(checkpoint), load_tokenizer(checkpoint)
    ids = tokenizer.encode_batch(["def f("])[0]
    start = len(ids)
    for _ in range(9):
        ids.append(int(np.argmax(decoder(np.array([ids], np.int32))[0, -1])))
    assert 0 not in ids[start:]
    expected = tokenizer.decode(tf.ragged.constant([ids[start:]], tf.int32))[0].numpy().decode()
    assert Sampler(decoder, tokenizer).continue_text("def f(", 9) == expected


def test_a_sample_follows_the_weights_and_ends_at_an_end_token(checkpoint: Path):
    decoder, tokenizer = load_checkpoint(checkpoint), load_tokenizer(checkpoint)
    sampler = Sampler(decoder, tokenizer)
    before = sampler.continue_text("def", 4)
    # The end token's row becomes the direction the last state points to: its logit is the greatest.
    state = decoder.features(np.array([sampler.prompt_ids("def")], np.int32))[0, -1].numpy()
    embedding = decoder.embedding.numpy()
    embedding[0] = 1e3 * state * decoder.final_norm.numpy()
    decoder.embedding.assign(embedding)
    after = sampler.continue_text("def", 4)
    assert (before != after, after) == (True, "<|endoftext|>")
