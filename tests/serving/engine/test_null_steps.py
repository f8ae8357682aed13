from __future__ import annotations

from models.contract.signatures import MANDATORY, NULL_BLOCK, SIGNATURES
from serving.engine.null_steps import null_steps


def test_each_rare_kind_of_row_on_the_null_block():
    verify, full = null_steps(SIGNATURES)
    rows = [*(item.row for item in verify.verifies), *(item.row for item in full.fulls)]
    assert [row.block_table for row in rows] == [(NULL_BLOCK, NULL_BLOCK)] * 2
    assert [row.length for row in rows] == [0, 0]


def test_a_package_without_them_has_none():
    assert null_steps(MANDATORY) == []
