"""What signatures share does what it stands for, and is one function for all who call it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from models.canonical_saved_model import GRAPH
from models.checkpoint import load_checkpoint
from models.packed.pack_decoder import pack_decoder
from models.sampling import SamplingRows, sample
from models.shared_steps import SharedSteps


@pytest.fixture(scope="module")
def shared(tiny_checkpoint: Path) -> SharedSteps:
    return SharedSteps(pack_decoder(load_checkpoint(tiny_checkpoint), "off", "float32"))


@pytest.mark.parametrize("changed", [False, True])
def test_the_shared_choice_is_the_plain_one(shared: SharedSteps, changed: bool):
    random = np.random.default_rng(3)
    raw, other = (tf.constant(random.normal(size=(2, 273)), tf.float32) for _ in range(2))
    rows = SamplingRows(
        tf.constant([0.0, 1.0]),
        tf.constant([0, 5]),
        tf.constant([1.0, 0.9]),
        tf.constant([0.0, 0.01]),
        tf.constant([1, 2], tf.int64),
    )
    inputs = (raw, rows, tf.constant([4, 5]), *([other] if changed else []))
    for found, wanted in zip(shared.sample(*inputs), sample(*inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_package_holds_each_kind_of_choice_once(tiny_package: Path):
    model = saved_model_pb2.SavedModel.FromString((tiny_package / GRAPH).read_bytes())
    functions = model.meta_graphs[0].graph_def.library.function
    noise = [
        function.signature.name
        for function in functions
        if any(node.op == "Log1p" for node in function.node_def)
    ]
    # From raw and from changed logits; each takes noise in its list, in an attempt and after the last.
    assert len(noise) == 2 * 3, noise
