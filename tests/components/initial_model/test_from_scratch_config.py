from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from components.initial_model.architecture import decoder_config
from components.initial_model.from_scratch_config import FromScratchConfig


def test_the_defaults_make_a_decoder():
    config = decoder_config(FromScratchConfig(), 8192, eos_ids=(0,))
    assert (config.family, config.tied, config.head_dim, config.intermediate_size) == ("llama", True, 32, 704)
    assert config.num_parameters == 6_917_376


def test_sizes_reach_the_decoder():
    sizes = {
        "hidden_size": 32,
        "layers": 2,
        "heads": 4,
        "kv_heads": 2,
        "intermediate_size": 48,
        "context": 64,
    }
    config = decoder_config(FromScratchConfig(**sizes), 300, eos_ids=(0,), bos_id=1)
    assert (config.num_layers, config.num_kv_heads, config.max_length, config.bos_id) == (2, 2, 64, 1)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"hidden_size": 100, "heads": 8}, r"`hidden_size` is 100, which 8 heads.*multiple of 16"),
        ({"hidden_size": 24, "heads": 8}, "of an even width"),
        ({"heads": 8, "kv_heads": 3}, "`kv_heads` is 3, no divisor of the 8 `heads`"),
    ],
)
def test_heads_that_do_not_fit_are_refused(sizes: dict[str, Any], message: str):
    with pytest.raises(ValidationError, match=message):
        FromScratchConfig(**sizes)
