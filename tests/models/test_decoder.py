"""The network against itself in its other forms; against transformers: test_family_parity.py."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from models.attention import attend, causal_mask
from models.checkpoint import load_checkpoint
from models.decoder import Decoder
from tests.tiny import TINY, write_tiny_checkpoint

IDS = np.random.default_rng(0).integers(0, TINY.vocab_size, (2, 12)).astype(np.int32)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    return load_checkpoint(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny")))


def test_the_number_of_parameters_follows_from_the_config(decoder: Decoder):
    assert decoder.count_params() == TINY.num_parameters
    untied = Decoder(TINY.__class__(**{**_fields(), "tied": False}), initializer="zeros")
    assert untied.count_params() == untied.config.num_parameters


def _fields() -> dict:
    return {name: getattr(TINY, name) for name in TINY.__dataclass_fields__}


def test_the_parts_make_the_whole(decoder: Decoder):
    positions = tf.range(12)[None]
    x = decoder.embed(IDS)
    for block in decoder.blocks:
        q, k, v = block.project(x, positions)
        x = block.finish(x, attend(q, k, v, causal_mask(12)))
    np.testing.assert_allclose(decoder.head(x), decoder(IDS), atol=1e-5)


def test_a_position_sees_nothing_of_what_follows(decoder: Decoder):
    changed = IDS.copy()
    changed[:, 7:] = 5
    np.testing.assert_allclose(decoder(IDS)[:, :7], decoder(changed)[:, :7], atol=1e-5)
    assert np.abs(decoder(IDS)[:, 7:] - decoder(changed)[:, 7:]).max() > 0.1


def test_packed_documents_give_the_logits_they_give_alone(decoder: Decoder):
    segments = np.array([[0] * 5 + [1] * 7, [0] * 9 + [1] * 3], np.int32)
    positions = np.array([[*range(5), *range(7)], [*range(9), *range(3)]], np.int32)
    packed = decoder(IDS, positions, segments).numpy()
    for row, cut in enumerate((5, 9)):
        np.testing.assert_allclose(packed[row, :cut], decoder(IDS[row : row + 1, :cut])[0], atol=1e-4)
        np.testing.assert_allclose(packed[row, cut:], decoder(IDS[row : row + 1, cut:])[0], atol=1e-4)


def test_only_distances_between_positions_count(decoder: Decoder):
    positions = np.arange(12, dtype=np.int32)[None] + 50
    np.testing.assert_allclose(decoder(IDS, positions), decoder(IDS), atol=2e-3)


def test_one_trace_serves_all_shapes_and_survives_an_export(decoder: Decoder, tmp_path: Path):
    spec = tf.TensorSpec([None, None], tf.int32)
    archive = keras.export.ExportArchive()
    archive.track(decoder)
    archive.add_endpoint("logits", tf.function(decoder.call, autograph=False), [spec])
    archive.write_out(str(tmp_path / "model"), verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    for ids in (IDS, IDS[:1, :3], IDS[:, :1]):
        np.testing.assert_allclose(loaded.logits(ids), decoder(ids), atol=1e-4)


def test_random_weights_differ_between_matrices_of_one_shape():
    keras.utils.set_random_seed(3)
    first, second = Decoder(TINY).blocks
    assert np.abs(first.down.numpy() - second.down.numpy()).max() > 0.01
