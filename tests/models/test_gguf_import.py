from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter
from safetensors.numpy import load_file

from models.contract.errors import CheckpointError, ConfigError
from models.decoder_config import DecoderConfig
from models.gguf_import import import_gguf, unpermute
from tests.gguf_file import write_gguf


def _permuted(weight: np.ndarray, heads: int) -> np.ndarray:
    """The order of rows that GGUF converters write."""
    rows, columns = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


def test_unpermute_undoes_the_converters_order():
    weight = np.random.default_rng(0).normal(size=(24, 5))
    assert not np.array_equal(_permuted(weight, 3), weight)
    np.testing.assert_array_equal(unpermute(_permuted(weight, 3), 3), weight)


@pytest.mark.parametrize("tied", [True, False])
def test_weights_and_config_come_back(tmp_path: Path, tied: bool):
    tensors = write_gguf(tmp_path / "tiny.gguf", tied=tied)
    config = import_gguf(tmp_path / "tiny.gguf", tmp_path / "out")
    found = load_file(tmp_path / "out" / "model.safetensors")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor, err_msg=name)
    assert config == DecoderConfig.from_hf(config.to_hf())
    assert config.tied == tied
    assert (config.norm_eps, config.rope_theta, config.head_dim) == (1e-5, 5000.0, 8)
    assert DecoderConfig.load(tmp_path / "out").eos_ids == (0, 2)


@pytest.mark.parametrize("quantisation", ["Q8_0", "Q4_0", "F16"])
def test_quantised_weights_are_dequantised(tmp_path: Path, quantisation: str):
    kind = GGMLQuantizationType[quantisation]
    tensors = write_gguf(tmp_path / "tiny.gguf", quantisation=kind)
    import_gguf(tmp_path / "tiny.gguf", tmp_path / "out")
    found = load_file(tmp_path / "out" / "model.safetensors")
    tolerance = {"Q8_0": 0.01, "Q4_0": 0.2, "F16": 1e-3}[quantisation]
    for name, tensor in tensors.items():
        np.testing.assert_allclose(found[name], tensor, atol=tolerance, err_msg=name)
    changed = [name for name, tensor in tensors.items() if not np.array_equal(found[name], tensor)]
    assert "model.layers.0.self_attn.q_proj.weight" in changed


def test_progress_counts_every_tensor(tmp_path: Path):
    tensors = write_gguf(tmp_path / "tiny.gguf")
    calls: list[tuple[int, int]] = []
    import_gguf(tmp_path / "tiny.gguf", tmp_path / "out", lambda done, total: calls.append((done, total)))
    assert calls == [(count + 1, len(tensors)) for count in range(len(tensors))]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda w: w.add_string("general.architecture2", ""), None),
        (lambda w: w.add_string("llama.rope.scaling.type", "linear"), "llama.rope.scaling.type"),
        (lambda w: w.add_uint32("llama.expert_count", 8), "llama.expert_count"),
        (lambda w: w.add_uint32("llama.attention.sliding_window", 512), "sliding_window"),
        (lambda w: w.add_uint32("llama.rope.dimension_count", 4), "llama.rope.dimension_count"),
        (lambda w: w.add_tensor("rope_freqs.weight", np.ones(4, np.float32)), "rope_freqs.weight"),
        (lambda w: w.add_tensor("blk.0.attn_q.bias", np.ones(32, np.float32)), "blk.0.attn_q.bias"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_would_change_the_computation_is_refused_by_name(
    tmp_path: Path, change: Callable[[GGUFWriter], None], named: str | None
):
    write_gguf(tmp_path / "tiny.gguf", change=change)
    if named is None:
        import_gguf(tmp_path / "tiny.gguf", tmp_path / "out")
        return
    with pytest.raises(CheckpointError, match=named):
        import_gguf(tmp_path / "tiny.gguf", tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["tiny.gguf"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"architecture": "gemma"}, "general.architecture"),
        ({"leave_out": "blk.1.ffn_up.weight"}, "blk.1.ffn_up.weight"),
        ({"leave_out": "llama.block_count"}, "llama.block_count"),
        ({"leave_out": "tokenizer.ggml.merges"}, "tokenizer.ggml.merges"),
        ({"feed_forward": 47}, "blk.0.ffn_gate.weight"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_incomplete_or_foreign_file_is_refused_by_name(tmp_path: Path, options: dict, named: str):
    write_gguf(tmp_path / "tiny.gguf", **options)
    with pytest.raises(CheckpointError, match=named):
        import_gguf(tmp_path / "tiny.gguf", tmp_path / "out")


def test_a_file_that_is_missing_cut_or_not_gguf_is_named(tmp_path: Path):
    file = tmp_path / "tiny.gguf"
    for contents in (None, b"", b"GGUF", b"something else entirely, and long enough for a header"):
        if contents is not None:
            file.write_bytes(contents)
        with pytest.raises(CheckpointError, match=r"tiny\.gguf"):
            import_gguf(file, tmp_path / "out")
    write_gguf(file)
    whole = file.read_bytes()
    for size in (len(whole) // 50, len(whole) // 2, len(whole) - 64):
        file.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"tiny\.gguf"):
            import_gguf(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_foreign_output_directory_is_refused_before_any_work(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(ConfigError, match="out"):
        import_gguf(tmp_path / "absent.gguf", tmp_path / "out")
