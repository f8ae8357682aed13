from __future__ import annotations

import math
from dataclasses import replace

import pytest

from models.checkpoint_files import tensor_shapes
from models.contract.errors import CheckpointError
from models.decoder_shapes import decoder_shapes
from models.families.family import Family
from models.families.llama import LLAMA
from models.families.registry import FAMILIES, family_of
from tests.tiny import TINY


def test_the_weight_map_names_every_tensor_of_every_block():
    names = LLAMA.weight_names(num_layers=2, tied=False)
    tensors = [tensor for group in names.values() for tensor in group]
    assert len(tensors) == len(set(tensors)) == 2 + 2 * 9 + 1
    assert names["blocks/1/gate_up"] == (
        "model.layers.1.mlp.gate_proj.weight",
        "model.layers.1.mlp.up_proj.weight",
    )
    assert names["head"] == ("lm_head.weight",)


def test_a_tied_head_is_no_tensor():
    assert "head" not in LLAMA.weight_names(num_layers=1, tied=True)


def test_a_config_without_architectures_is_known_by_its_model_type():
    assert family_of({"model_type": "llama"}) is LLAMA
    with pytest.raises(CheckpointError, match="LlamaForCausalLM"):
        family_of({"architectures": ["LlamaForCausalLM"]})


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_the_weight_map_names_what_the_network_has(family: Family):
    config = replace(TINY, family=family.name, num_kv_heads=TINY.num_heads, tied=False)
    assert family.weight_names(config.num_layers, config.tied).keys() == decoder_shapes(config).keys()
    shapes = tensor_shapes(config)
    assert sum(math.prod(shape) for shape in shapes.values()) == config.num_parameters


def test_gpt2_keeps_its_matrices_inputs_first_but_for_the_head():
    shapes = tensor_shapes(replace(TINY, family="gpt2", num_kv_heads=4, tied=False))
    assert shapes["transformer.h.0.attn.c_attn.weight"] == (32, 96)
    assert shapes["transformer.h.0.mlp.c_proj.weight"] == (48, 32)
    assert shapes["transformer.wpe.weight"] == (256, 32)
    assert shapes["lm_head.weight"] == (TINY.vocab_size, 32)
