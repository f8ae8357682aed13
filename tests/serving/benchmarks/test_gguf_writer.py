from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from serving.benchmarks.engines.gguf_writer import write_gguf
from tests.tiny import TINY, write_tiny_checkpoint


def test_a_llama_is_written_with_rotary_pairs_next_to_each_other(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint")
    write_gguf(checkpoint, tmp_path / "converted" / "model.gguf")
    ours = load_file(checkpoint / "model.safetensors")
    theirs = _read(tmp_path / "converted" / "model.gguf")
    np.testing.assert_array_equal(theirs["token_embd.weight"], ours["model.embed_tokens.weight"])
    np.testing.assert_array_equal(
        theirs["blk.1.ffn_down.weight"], ours["model.layers.1.mlp.down_proj.weight"]
    )
    query, half = ours["model.layers.0.self_attn.q_proj.weight"], TINY.head_dim // 2
    # Components i and i + D/2 of a head turn together; in GGUF they are rows 2i and 2i + 1.
    np.testing.assert_array_equal(theirs["blk.0.attn_q.weight"][:4], query[[0, half, 1, half + 1]])
    assert "output.weight" not in theirs


def test_matrices_of_a_gpt2_are_turned(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(
        tmp_path / "checkpoint", family="gpt2", num_kv_heads=4, intermediate_size=128
    )
    write_gguf(checkpoint, tmp_path / "model.gguf")
    ours, theirs = load_file(checkpoint / "model.safetensors"), _read(tmp_path / "model.gguf")
    np.testing.assert_array_equal(
        theirs["blk.0.attn_qkv.weight"], ours["transformer.h.0.attn.c_attn.weight"].T
    )
    np.testing.assert_array_equal(theirs["position_embd.weight"], ours["transformer.wpe.weight"])


def test_shards_are_read_as_one(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint")
    write_gguf(checkpoint, tmp_path / "whole.gguf")
    tensors = load_file(checkpoint / "model.safetensors")
    names, weight_map = sorted(tensors), {}
    for file, part in (("one.safetensors", names[::2]), ("two.safetensors", names[1::2])):
        save_file({name: tensors[name] for name in part}, checkpoint / file)
        weight_map.update(dict.fromkeys(part, file))
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (checkpoint / "model.safetensors").unlink()
    write_gguf(checkpoint, tmp_path / "shards.gguf")
    whole, shards = _read(tmp_path / "whole.gguf"), _read(tmp_path / "shards.gguf")
    assert set(whole) == set(shards)
    for name, values in whole.items():
        np.testing.assert_array_equal(values, shards[name])


def test_another_architecture_is_refused(tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    with pytest.raises(ValueError, match="mamba"):
        write_gguf(tmp_path, tmp_path / "model.gguf")
    assert not (tmp_path / "model.gguf").exists()


def _read(file: Path) -> dict[str, np.ndarray]:
    return {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(file).tensors}
