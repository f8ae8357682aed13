"""What an export may be asked for."""

from __future__ import annotations

import pytest

from models.contract.errors import ConfigError
from models.contract.manifest import ModelDims
from models.export_options import ExportOptions

DIMS = ModelDims(
    vocab_size=49152,
    hidden_size=576,
    intermediate_size=1536,
    num_layers=30,
    num_heads=9,
    num_kv_heads=3,
    head_dim=64,
)


@pytest.mark.parametrize(
    ("field", "value"),
    [("model_name", " "), ("max_length", 1), ("block_size", 0), ("num_blocks", 1)],
)
def test_a_value_out_of_range_is_refused_by_name(field: str, value: object):
    with pytest.raises(ConfigError, match=f"`{field}` is") as caught:
        ExportOptions(**{field: value})
    assert caught.value.field == field


def test_the_context_is_the_checkpoints_at_most_2048():
    assert ExportOptions().resolve_max_length(8192) == 2048
    assert ExportOptions().resolve_max_length(512) == 512
    assert ExportOptions(max_length=4096).resolve_max_length(8192) == 4096


def test_a_longer_context_than_the_checkpoints_is_refused():
    with pytest.raises(ConfigError, match="made for 512"):
        ExportOptions(max_length=513).resolve_max_length(512)


def test_blocks_fill_the_budget_within_one_and_64_sequences():
    token = 2 * 30 * 3 * 64 * 4
    blocks = ExportOptions().resolve_num_blocks(DIMS, 2048)
    assert 0.99 * 2**29 < (blocks - 1) * 16 * token <= 2**29
    assert ExportOptions().resolve_num_blocks(DIMS, 32768) == 1 + 32768 // 16
    assert ExportOptions().resolve_num_blocks(DIMS, 20) == 1 + 64 * 2
    assert ExportOptions(num_blocks=7).resolve_num_blocks(DIMS, 2048) == 7


@pytest.mark.parametrize(("cores", "slices"), [(1, 1), (2, 2), (6, 4), (64, 64), (200, 64)])
def test_products_are_cut_into_a_power_of_two_of_slices(cores: int, slices: int):
    assert ExportOptions(cores=cores, profile="latency").resolve_cores() == slices


def test_cores_are_this_machines_by_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    assert ExportOptions(profile="throughput").resolve_cores() == 4


@pytest.mark.parametrize(
    ("profile", "dtype"), [("off", "float32"), ("latency", "int8"), ("latency", "bfloat16")]
)
def test_nothing_is_cut_without_compilation_or_in_other_dtypes(profile: str, dtype: str):
    assert ExportOptions(cores=8, profile=profile, dtype=dtype).resolve_cores() == 1
