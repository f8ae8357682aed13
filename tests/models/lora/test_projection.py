"""Which linear layers a decoder has, and which of them a target names."""

from __future__ import annotations

import numpy as np
import pytest

from models.contract.errors import ConfigError
from models.decoder import Decoder
from models.lora.projection import projections, select
from tests.tiny import TINY


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return Decoder(TINY)


def test_every_column_of_every_kernel_belongs_to_one_projection(decoder):
    found = projections(decoder.config)
    for index, block in enumerate(decoder.blocks):
        for kernel in [weight for weight in block.weights if len(weight.shape) == 2]:
            owners = np.zeros(kernel.shape[1], int)
            for layer in found:
                if (layer.block, layer.kernel) == (index, kernel.name):
                    assert layer.inputs == kernel.shape[0]
                    owners[layer.start : layer.start + layer.outputs] += 1
            assert (owners == 1).all(), kernel.name
    assert len(found) == 7 * TINY.num_layers


def test_targets_are_names_or_ends_of_names(decoder):
    layers = projections(decoder.config)
    assert [layer.module for layer in select(layers, ["q_proj"])] == [
        "model.layers.0.self_attn.q_proj",
        "model.layers.1.self_attn.q_proj",
    ]
    assert [layer.module for layer in select(layers, ("1.mlp.down_proj",))] == [
        "model.layers.1.mlp.down_proj"
    ]
    assert select(layers, "all-linear") == layers
    assert {layer.name for layer in select(layers, ["v_proj", "o_proj"])} == {"v_proj", "o_proj"}


@pytest.mark.parametrize("targets", [["q_proj", "query"], ["proj"], "lm_head"])
def test_a_target_that_names_nothing_is_refused_with_the_names_there_are(decoder, targets):
    with pytest.raises(ConfigError, match=r"LoRA target .* is no linear layer.*q_proj, k_proj.*all-linear"):
        select(projections(decoder.config), targets)


def test_no_targets_are_refused(decoder):
    with pytest.raises(ConfigError, match=r"there is no LoRA target.*q_proj, k_proj.*all-linear"):
        select(projections(decoder.config), [])
