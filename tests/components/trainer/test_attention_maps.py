from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from components.trainer.attention_heads import check_heads
from components.trainer.attention_maps import attention_maps
from models.checkpoint import load_checkpoint
from models.contract.errors import ConfigError
from models.decoder import Decoder
from tests.tiny import TINY, write_tiny_checkpoint


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return load_checkpoint(write_tiny_checkpoint(tmp_path_factory.mktemp("maps")))


@pytest.mark.parametrize("length", [1, 5, 8, 21])
def test_maps_are_the_softmax_of_the_scores(decoder: Decoder, length: int):
    ids = np.arange(3, 3 + length, dtype=np.int32)
    maps = attention_maps(decoder, ids, [(0, 3), (1, 0)])
    assert set(maps) == {(0, 3), (1, 0)}
    q, k, _ = decoder.blocks[0].project(decoder.embed(ids[None]), tf.range(length)[None])
    # Query heads 2 and 3 share key head 1.
    scores = (q[0, 3].numpy() @ k[0, 1].numpy().T) / np.sqrt(TINY.head_dim)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(maps[0, 3], expected / expected.sum(axis=1, keepdims=True), atol=1e-5)
    for weights in maps.values():
        assert weights.shape == (length, length)
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
        assert not np.triu(weights, 1).any()


def test_heads_that_do_not_exist_are_refused():
    check_heads([(1, 3)], TINY)
    for head in ((2, 0), (0, 4)):
        with pytest.raises(
            ConfigError, match=rf"layer {head[0]}, head {head[1]}; the model has layers 0 to 1"
        ):
            check_heads([(0, 0), head], TINY)
