from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serving.engine.vocabulary_mask import mask_without


@given(st.integers(1, 200), st.lists(st.integers(-3, 210)).map(tuple))
def test_bit_i_of_word_w_stands_for_id_32_w_plus_i(size: int, banned: tuple[int, ...]):
    mask = mask_without(size, banned)
    words = [int.from_bytes(mask[i : i + 4], "little") for i in range(0, len(mask), 4)]
    assert len(words) == -(-size // 32)
    bits = [word >> i & 1 for word in words for i in range(32)]
    assert bits == [int(i < size and i not in banned) for i in range(len(bits))]
