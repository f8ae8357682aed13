from __future__ import annotations

import pytest

from models.contract.errors import ConfigError
from models.contract.manifest import Manifest, ModelDims, TokenizerInfo
from serving.engine.engine_config import EngineConfig

SIZES = {"vocab_size": 10, "max_length": 64, "block_size": 4, "num_blocks": 9}


def test_sizes_come_from_the_manifest_and_limits_from_the_caller():
    manifest = Manifest(
        model="m",
        family="llama",
        dims=ModelDims(300, 8, 8, 1, 1, 1, 8),
        max_length=128,
        block_size=16,
        num_blocks=33,
        dtype="float32",
        kv_dtype="float32",
        bos_id=None,
        eos_ids=(0,),
        tokenizer=TokenizerInfo("byte_level_bpe", "f", False, ()),
        memory_bytes={},
        content_hash="abc",
    )
    config = EngineConfig.from_manifest(manifest, max_num_seqs=3)
    assert (config.vocab_size, config.max_length, config.block_size, config.num_blocks) == (300, 128, 16, 33)
    assert (config.package_hash, config.max_num_seqs) == ("abc", 3)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_num_seqs": 0}, "`max_num_seqs` is 0"),
        ({"num_blocks": 1}, "`num_blocks` is 1"),
        ({"max_num_batched_tokens": 16, "max_num_seqs": 16}, "greater than `max_num_seqs`"),
        ({"max_decode_steps": -1}, "`max_decode_steps` is -1"),
    ],
)
def test_limits_out_of_range_are_refused_by_name(limits: dict[str, int], message: str):
    with pytest.raises(ConfigError, match=message):
        EngineConfig(**{**SIZES, **limits})


def test_what_fits_into_blocks():
    config = EngineConfig(**SIZES)
    assert (config.num_usable_blocks, config.max_tokens_in_blocks) == (8, 33)
    assert [config.num_blocks_for(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
