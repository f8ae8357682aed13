from __future__ import annotations

import pytest

from cli.bench_limits import blocks_needed, check_context, is_meant_for
from models.contract.errors import ConfigError


def test_prompt_and_answer_may_fill_the_context_but_no_more():
    check_context(56, 200, 256, "tiny")
    with pytest.raises(ConfigError, match=r"--prompt 57 and --tokens 200 make 257 ids.* of tiny is 256"):
        check_context(57, 200, 256, "tiny")


def test_rows_take_whole_blocks_beside_the_null_block():
    assert blocks_needed(16, 16, 1) == 2
    assert blocks_needed(16, 17, 8) == 17


@pytest.mark.parametrize(
    ("profile", "one", "many"), [("off", True, True), ("latency", True, False), ("throughput", False, True)]
)
def test_a_profile_is_for_one_row_or_for_many(profile: str, one: bool, many: bool):
    assert (is_meant_for(profile, 1), is_meant_for(profile, 2)) == (one, many)
