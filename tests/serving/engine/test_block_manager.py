from __future__ import annotations

import pytest

from models.contract.sampling_params import SamplingParams
from serving.engine.block_manager import BlockManager
from serving.engine.engine_config import EngineConfig
from serving.engine.sequence import Sequence


def manager(num_blocks: int = 9, **options) -> BlockManager:
    return BlockManager(
        EngineConfig(vocab_size=100, max_length=64, block_size=4, num_blocks=num_blocks, **options)
    )


def sequence(*ids: int, tenant: str = "") -> Sequence:
    return Sequence("r", ids, SamplingParams(), max_tokens=16, tenant=tenant)


def computed(blocks: BlockManager, *ids: int, tenant: str = "") -> Sequence:
    """A sequence with blocks, all its prompt's KV written."""
    seq = sequence(*ids, tenant=tenant)
    blocks.allocate(seq)
    seq.num_computed = seq.num_tokens
    blocks.hash_blocks(seq)
    return seq


def test_blocks_are_handed_out_in_order_and_never_the_null_block():
    blocks = manager()
    seq = sequence(*range(9))
    blocks.allocate(seq)
    assert seq.block_table == [1, 2, 3]
    assert (blocks.num_free, blocks.num_used, blocks.num_total) == (5, 3, 8)


def test_all_blocks_can_be_used_and_no_more():
    blocks = manager(num_blocks=4)
    seq = sequence(*range(12))
    assert blocks.can_allocate(seq)
    assert not blocks.can_allocate(seq, spare=1)
    blocks.allocate(seq)
    assert (seq.block_table, blocks.num_free) == ([1, 2, 3], 0)
    assert not blocks.can_allocate(sequence(1))


def test_extending_takes_a_block_only_when_the_last_one_is_full():
    blocks = manager()
    seq = sequence(1, 2, 3)
    blocks.allocate(seq)
    assert blocks.missing(seq, 4) == 0
    blocks.extend(seq, 4)
    assert seq.block_table == [1]
    assert blocks.missing(seq, 9) == 2
    blocks.extend(seq, 9)
    assert seq.block_table == [1, 2, 3]


def test_deallocating_twice_frees_once():
    blocks = manager()
    seq = sequence(*range(9))
    blocks.allocate(seq)
    blocks.deallocate(seq)
    blocks.deallocate(seq)
    assert (seq.block_table, blocks.num_free) == ([], 8)


def test_a_known_prefix_is_shared():
    blocks = manager()
    first = computed(blocks, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    second = sequence(1, 2, 3, 4, 5, 6, 7, 8, 10, 11)
    blocks.allocate(second)
    assert second.block_table[:2] == first.block_table[:2]
    assert second.block_table[2] != first.block_table[2]
    assert (second.num_computed, blocks.num_used) == (8, 4)


def test_blocks_still_held_by_another_are_not_freed():
    blocks = manager()
    first = computed(blocks, *range(9))
    second = sequence(*range(9))
    blocks.allocate(second)
    blocks.deallocate(first)
    assert blocks.num_used == 3
    blocks.deallocate(second)
    assert blocks.num_used == 0


def test_at_least_one_token_is_left_to_compute():
    blocks = manager()
    computed(blocks, 1, 2, 3, 4, 5, 6, 7, 8)
    again = sequence(1, 2, 3, 4, 5, 6, 7, 8)
    blocks.allocate(again)
    assert again.num_computed == 4


def test_a_freed_prefix_is_found_until_its_block_is_needed():
    blocks = manager(num_blocks=5)
    blocks.deallocate(computed(blocks, *range(8)))
    found = sequence(*range(9))
    blocks.allocate(found)
    assert (found.num_computed, found.block_table[:2]) == (8, [1, 2])
    blocks.deallocate(found)
    blocks.allocate(sequence(*range(50, 66)))
    assert blocks.num_free == 0


def test_an_evicted_prefix_is_not_found():
    blocks = manager(num_blocks=5)
    blocks.deallocate(computed(blocks, *range(8)))
    other = sequence(*range(50, 66))
    blocks.allocate(other)
    blocks.deallocate(other)
    again = sequence(*range(8))
    blocks.allocate(again)
    assert again.num_computed == 0


def test_the_least_recently_used_goes_first_and_a_tail_before_its_head():
    blocks = manager(num_blocks=7)
    old, young = computed(blocks, *range(8)), computed(blocks, *range(20, 28))
    blocks.deallocate(young)
    blocks.deallocate(old)
    taken = sequence(*range(50, 62))
    blocks.allocate(taken)
    assert taken.block_table == [5, 6, 4]
    again = sequence(*range(20, 29))
    blocks.allocate(again)
    assert (again.num_computed, again.block_table[0]) == (4, 3)


def test_only_blocks_whose_kv_is_written_are_known():
    blocks = manager()
    seq = sequence(*range(12))
    blocks.allocate(seq)
    seq.num_computed = 7
    blocks.hash_blocks(seq)
    other = sequence(*range(12))
    blocks.allocate(other)
    assert other.num_computed == 4


def test_a_different_token_anywhere_before_hides_a_block():
    blocks = manager()
    computed(blocks, 1, 2, 3, 4, 5, 6, 7, 8)
    other = sequence(9, 2, 3, 4, 5, 6, 7, 8, 0)
    blocks.allocate(other)
    assert other.num_computed == 0


@pytest.mark.parametrize(("tenant", "hit"), [("a", 4), ("b", 0), ("", 0)])
def test_tenants_share_nothing(tenant: str, hit: int):
    blocks = manager()
    computed(blocks, *range(6), tenant="a")
    other = sequence(*range(6), tenant=tenant)
    blocks.allocate(other)
    assert other.num_computed == hit


def test_the_package_salts_the_hashes():
    one, other = manager(package_hash="p"), manager(package_hash="q")
    assert computed(one, *range(5)).block_hashes != computed(other, *range(5)).block_hashes


def test_token_ids_are_compared_besides_the_hash(monkeypatch: pytest.MonkeyPatch):
    class Collision:
        def __init__(self, *_args, **_options) -> None: ...

        def digest(self) -> bytes:
            return b"same"

    monkeypatch.setattr("serving.engine.block_manager.blake2b", Collision)
    blocks = manager()
    computed(blocks, 1, 2, 3, 4)
    other = sequence(5, 6, 7, 8, 9)
    blocks.allocate(other)
    assert other.num_computed == 0


def test_two_sequences_that_computed_the_same_block_keep_their_own():
    blocks = manager()
    first, second = sequence(*range(5)), sequence(*range(5))
    for seq in (first, second):
        blocks.allocate(seq)
    for seq in (first, second):
        seq.num_computed = 5
        blocks.hash_blocks(seq)
    assert set(first.block_table).isdisjoint(second.block_table)
    blocks.deallocate(first)
    blocks.deallocate(second)
    assert blocks.num_used == 0


def test_a_cleared_cache_finds_nothing_and_loses_no_block():
    blocks = manager()
    held = computed(blocks, *range(9))
    blocks.clear_cache()
    other = sequence(*range(9))
    blocks.allocate(other)
    assert (other.num_computed, blocks.num_used) == (0, 6)
    blocks.deallocate(held)
    blocks.deallocate(other)
    assert blocks.num_free == 8


def test_caching_can_be_off():
    blocks = manager(prefix_caching=False)
    computed(blocks, *range(8))
    other = sequence(*range(9))
    blocks.allocate(other)
    assert other.num_computed == 0


def test_found_blocks_that_nobody_holds_count_as_needed():
    blocks = manager(num_blocks=4)
    blocks.deallocate(computed(blocks, *range(8)))
    assert blocks.can_allocate(sequence(*range(12)))
    assert not blocks.can_allocate(sequence(*range(13)))
