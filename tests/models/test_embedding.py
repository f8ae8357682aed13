"""Means over valid ids, whatever surrounds them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from models import embedding
from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from models.embedding import mean_features
from tests.tiny import TINY, write_tiny_checkpoint

IDS = np.random.default_rng(3).integers(0, TINY.vocab_size, (5, 12)).astype(np.int32)
LENGTHS = np.array([12, 1, 0, 7, 3], np.int32)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return load_checkpoint(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny")))


def run(decoder: Decoder, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    function = tf.function(lambda *rows: mean_features(decoder, *rows), autograph=False)
    return function(tf.constant(ids), tf.constant(lengths)).numpy()


def test_each_row_is_the_mean_over_its_own_ids(decoder: Decoder):
    found = run(decoder, IDS, LENGTHS)
    for row, length in enumerate(LENGTHS):
        wanted = np.zeros(TINY.hidden_size)
        if length:
            x = decoder.final(decoder.features(tf.constant(IDS[row : row + 1, :length])))
            wanted = x.numpy()[0].mean(0)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("filler", [-1, 0, 100_000])
def test_padding_is_masked_by_length_never_by_id(decoder: Decoder, filler: int):
    padded = np.full((5, 20), filler, np.int32)
    padded[:, :12] = np.where(np.arange(12) < LENGTHS[:, None], IDS, filler)
    np.testing.assert_allclose(
        run(decoder, padded, LENGTHS), run(decoder, IDS, LENGTHS), rtol=1e-4, atol=1e-5
    )


def test_groups_do_not_show(decoder: Decoder, monkeypatch: pytest.MonkeyPatch):
    wanted = run(decoder, IDS, LENGTHS)
    monkeypatch.setattr(embedding, "GROUP_TOKENS", 24)
    np.testing.assert_allclose(run(decoder, IDS, LENGTHS), wanted, rtol=1e-4, atol=1e-5)


def test_nothing_gives_zeros_and_no_rows_give_none(decoder: Decoder):
    assert not run(decoder, np.zeros((2, 0), np.int32), np.zeros(2, np.int32)).any()
    none = run(decoder, np.zeros((0, 0), np.int32), np.zeros(0, np.int32))
    assert none.shape == (0, TINY.hidden_size)
