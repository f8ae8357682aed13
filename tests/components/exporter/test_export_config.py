from __future__ import annotations

import pytest
from pydantic import ValidationError

from components.exporter.export_config import ExportConfig


def test_blocks_hold_the_tokens_and_the_null_block():
    assert ExportConfig(max_length=20, kv_tokens=33, block_size=16).num_blocks == 4


@pytest.mark.parametrize("wrong", [{"dtype": "int4"}, {"xla": "fast"}, {"stateless": True}])
def test_forms_that_a_run_cannot_export_are_refused(wrong: dict[str, object]):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        ExportConfig(**wrong)


def test_kv_memory_must_hold_one_request_of_full_length():
    with pytest.raises(ValidationError, match="one request of full length would not fit"):
        ExportConfig(max_length=100, kv_tokens=99)
