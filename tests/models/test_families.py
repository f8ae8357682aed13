from __future__ import annotations

import pytest

from models.contract.errors import CheckpointError
from models.families.llama import LLAMA
from models.families.registry import family_of


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
