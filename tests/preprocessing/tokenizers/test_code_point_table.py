from __future__ import annotations

import numpy as np
import pytest

from preprocessing.tokenizers.code_point_table import code_point_table, look_up

POINTS = np.arange(0x110000, dtype=np.int32)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_every_code_point_has_its_value(dtype: type):
    values = (POINTS // 3000 % 7 + (POINTS == 0x10FFFF)).astype(dtype)
    np.testing.assert_array_equal(look_up(*code_point_table(values), POINTS), values)


def test_equal_pages_are_held_once():
    values = np.zeros(0x110000, np.uint8)
    values[[0x41, 0x2041, 0x10FF41]] = 1
    assert len(code_point_table(values)[1]) == 2 * 256
