from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from models.checkpoint import load_checkpoint, save_checkpoint
from models.checkpoint_files import write_json
from models.contract.errors import CheckpointError, ConfigError
from tests.tiny import TINY, write_tiny_checkpoint

IDS = np.random.default_rng(0).integers(0, TINY.vocab_size, (2, 8)).astype(np.int32)
Q_PROJ = "model.layers.1.self_attn.q_proj.weight"
Tensors = dict[str, np.ndarray]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_tiny_checkpoint(tmp_path / "checkpoint")


def _rewrite(checkpoint: Path, change: Callable[[Tensors], Tensors]) -> Path:
    file = checkpoint / "model.safetensors"
    save_file(change(load_file(file)), file)
    return checkpoint


@pytest.mark.parametrize("tied", [True, False])
def test_loading_and_saving_gives_the_same_bytes(tmp_path: Path, tied: bool):
    source = write_tiny_checkpoint(tmp_path / "a", tied=tied, num_kv_heads=4)
    save_checkpoint(load_checkpoint(source), tmp_path / "b", like=source)
    ours, theirs = load_file(source / "model.safetensors"), load_file(tmp_path / "b" / "model.safetensors")
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert {file.name for file in source.iterdir()} == {file.name for file in (tmp_path / "b").iterdir()}
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        assert (source / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_float_types_become_float32(checkpoint: Path, dtype: type):
    _rewrite(checkpoint, lambda tensors: {name: value.astype(dtype) for name, value in tensors.items()})
    stored = load_file(checkpoint / "model.safetensors")["model.embed_tokens.weight"]
    assert stored.dtype == dtype
    embedding = load_checkpoint(checkpoint).embedding.numpy()
    assert embedding.dtype == np.float32
    np.testing.assert_array_equal(embedding, stored.astype(np.float32))


def test_shards_are_read_through_their_index(checkpoint: Path):
    whole = load_checkpoint(checkpoint)(IDS).numpy()
    _shard(checkpoint)
    np.testing.assert_array_equal(load_checkpoint(checkpoint)(IDS), whole)


def _shard(checkpoint: Path) -> None:
    tensors = load_file(checkpoint / "model.safetensors")
    names = sorted(tensors)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, part in parts.items():
        save_file({name: tensors[name] for name in part}, checkpoint / file)
    weight_map = {name: file for file, part in parts.items() for name in part}
    write_json(checkpoint / "model.safetensors.index.json", {"weight_map": weight_map})
    (checkpoint / "model.safetensors").unlink()


def test_a_missing_shard_is_named(checkpoint: Path):
    _shard(checkpoint)
    (checkpoint / "two.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"two\.safetensors.*missing"):
        load_checkpoint(checkpoint)


def test_a_shard_without_its_tensors_is_named(checkpoint: Path):
    _shard(checkpoint)
    save_file({"other": np.zeros(1, np.float32)}, checkpoint / "two.safetensors")
    with pytest.raises(CheckpointError, match=r"two\.safetensors.*lacks"):
        load_checkpoint(checkpoint)


def test_an_index_cannot_point_outside(checkpoint: Path):
    _shard(checkpoint)
    write_json(checkpoint / "model.safetensors.index.json", {"weight_map": {"a": "../b.safetensors"}})
    with pytest.raises(CheckpointError, match=r"\.\./b\.safetensors"):
        load_checkpoint(checkpoint)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: {name: t[name] for name in t if name != Q_PROJ}, Q_PROJ),
        (lambda t: {**t, "model.layers.0.self_attn.q_proj.bias": np.zeros(32, np.float32)}, "q_proj.bias"),
        (lambda t: {**t, Q_PROJ: t[Q_PROJ][:16]}, Q_PROJ),
        (lambda t: {**t, Q_PROJ: t[Q_PROJ].astype(np.int8)}, Q_PROJ),
        (lambda t: {**t, "lm_head.weight": t["model.embed_tokens.weight"] + 1}, "tie_word_embeddings"),
    ],
    ids=["missing", "extra", "shape", "integers", "untied head"],
)
def test_tensors_that_do_not_fit_are_refused_by_name(
    checkpoint: Path, change: Callable[[Tensors], Tensors], named: str
):
    _rewrite(checkpoint, change)
    with pytest.raises(CheckpointError, match=named):
        load_checkpoint(checkpoint)


def test_redundant_tensors_are_accepted(checkpoint: Path):
    logits = load_checkpoint(checkpoint)(IDS).numpy()
    extra = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(4, np.float32)}
    _rewrite(checkpoint, lambda t: {**t, **extra, "lm_head.weight": t["model.embed_tokens.weight"].copy()})
    np.testing.assert_array_equal(load_checkpoint(checkpoint)(IDS), logits)


@pytest.mark.parametrize("contents", [None, b"", b"not safetensors at all"])
def test_unreadable_weights_are_named(checkpoint: Path, contents: bytes | None):
    (checkpoint / "model.safetensors").unlink()
    if contents is not None:
        (checkpoint / "model.safetensors").write_bytes(contents)
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        load_checkpoint(checkpoint)


def test_nan_weights_load_since_the_evaluation_must_see_them(checkpoint: Path):
    _rewrite(checkpoint, lambda t: {**t, Q_PROJ: np.full_like(t[Q_PROJ], np.nan)})
    assert np.isnan(load_checkpoint(checkpoint)(IDS)).any()


def test_saving_replaces_an_earlier_checkpoint_but_nothing_else(checkpoint: Path, tmp_path: Path):
    decoder = load_checkpoint(checkpoint)
    save_checkpoint(decoder, tmp_path / "out", like=checkpoint)
    save_checkpoint(decoder, tmp_path / "out", like=checkpoint)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="notes"):
        save_checkpoint(decoder, tmp_path / "notes", like=checkpoint)
    assert (tmp_path / "notes" / "mine.txt").read_text() == "keep"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["checkpoint", "notes", "out"]


def test_gpt2_tensors_may_lack_the_first_part_of_their_names_and_come_with_masks(tmp_path: Path):
    whole = write_tiny_checkpoint(tmp_path / "whole", family="gpt2", num_kv_heads=4)
    short = write_tiny_checkpoint(tmp_path / "short", family="gpt2", num_kv_heads=4)
    mask = {"h.1.attn.bias": np.tri(256, dtype=np.float32)}
    _rewrite(short, lambda tensors: {name[len("transformer.") :]: t for name, t in tensors.items()} | mask)
    np.testing.assert_array_equal(load_checkpoint(short)(IDS), load_checkpoint(whole)(IDS))
    _rewrite(short, lambda tensors: {name: tensors[name] for name in tensors if name != "wpe.weight"})
    with pytest.raises(CheckpointError, match=r"lacks tensors \(1\), first `transformer\.wpe\.weight`"):
        load_checkpoint(short)
