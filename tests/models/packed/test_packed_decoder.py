from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.packed.pack_decoder import pack_decoder
from models.packed.weight_forms import PADDED

IDS = np.array([[5, 9, 200, 7, 31, 8]], np.int32)


@pytest.mark.parametrize("profile", ["off", "latency", "throughput"])
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "xla"])
def test_float32_computes_what_the_decoder_does(tiny_checkpoint: Path, profile: str, compiled: bool):
    decoder = load_checkpoint(tiny_checkpoint)
    packed = pack_decoder(decoder, profile, "float32")

    @tf.function(autograph=False)
    def run(ids: tf.Tensor) -> tf.Tensor:
        network = packed.bound() if compiled else packed
        inner = tf.function(
            lambda x: network.head(network.features(x)), jit_compile=compiled or None, autograph=False
        )
        return inner(ids)

    np.testing.assert_allclose(run(tf.constant(IDS)), decoder(IDS), atol=2e-5)


@pytest.mark.parametrize(("dtype", "most"), [("bfloat16", 0.02), ("int8", 0.04)])
@pytest.mark.parametrize("profile", ["off", "latency", "throughput"])
def test_smaller_formats_stay_close(tiny_checkpoint: Path, profile: str, dtype: str, most: float):
    decoder = load_checkpoint(tiny_checkpoint)
    packed = pack_decoder(decoder, profile, dtype)
    wanted, found = decoder(IDS).numpy(), packed.head(packed.features(tf.constant(IDS))).numpy()
    error = np.sqrt(np.mean((found - wanted) ** 2)) / wanted.std()
    assert 0 < error < most


def test_a_tied_head_is_stored_once(tiny_checkpoint: Path):
    decoder = load_checkpoint(tiny_checkpoint)
    packed = pack_decoder(decoder, "throughput", "float32")
    assert decoder.config.tied
    assert sorted(packed.weights) == sorted(decoder.named_weights())
    assert packed.weights["embedding"].shape == [5 * PADDED, 32]
