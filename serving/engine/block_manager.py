"""Who holds which KV block, and which blocks can be found again.

Blocks are ref-counted. A block whose KV is completely written is known by the chain hash of all
tokens up to its end, salted with package and tenant; when nobody holds it any more it keeps that
name in the free queue until it is handed out again, so the free queue doubles as the prefix cache.
Freed blocks queue up least recently used first, a sequence's tail before its head.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from hashlib import blake2b

from models.contract.signatures import NULL_BLOCK
from serving.engine.block import Block
from serving.engine.engine_config import EngineConfig
from serving.engine.sequence import Sequence


class BlockManager:
    """Hands out the blocks of one replica; block 0, the null block, never.

    Args:
        config: block size and count, package hash, whether to cache prefixes.
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._blocks = [Block(i) for i in range(config.num_blocks)]
        self._free: OrderedDict[int, Block] = OrderedDict(
            (block.block_id, block) for block in self._blocks if block.block_id != NULL_BLOCK
        )
        self._cached: dict[bytes, Block] = {}

    @property
    def num_free(self) -> int:
        """Blocks nobody holds, the null block not counted."""
        return len(self._free)

    @property
    def num_used(self) -> int:
        """Blocks somebody holds."""
        return self.num_total - self.num_free

    @property
    def num_total(self) -> int:
        """Blocks there are, the null block not counted."""
        return self._config.num_usable_blocks

    def can_allocate(self, sequence: Sequence, spare: int = 0) -> bool:
        """Whether all known tokens fit, leaving `spare` blocks free."""
        found = self._match(sequence)
        held = sum(block.ref_count > 0 for block in found)
        needed = self._config.num_blocks_for(sequence.num_tokens) - held
        return needed + spare <= self.num_free

    def allocate(self, sequence: Sequence) -> None:
        """Give a waiting sequence blocks for all known tokens, known ones first.

        Sets `num_computed` to the tokens found; at least one token is left to compute, since
        the next id comes from running it.
        """
        found = self._match(sequence)
        for block in found:
            self._hold(block)
        sequence.block_table = [block.block_id for block in found]
        sequence.num_computed = len(found) * self._config.block_size
        sequence.num_hashed_blocks = len(found)
        self.extend(sequence, sequence.num_tokens)

    def missing(self, sequence: Sequence, positions: int) -> int:
        """Blocks that a sequence lacks to hold so many positions."""
        return max(0, self._config.num_blocks_for(positions) - len(sequence.block_table))

    def extend(self, sequence: Sequence, positions: int) -> None:
        """Give a sequence the blocks it lacks to hold so many positions; they must be free."""
        for _ in range(self.missing(sequence, positions)):
            block = next(iter(self._free.values()))
            self._uncache(block)
            self._hold(block)
            sequence.block_table.append(block.block_id)

    def hash_blocks(self, sequence: Sequence) -> None:
        """Make the sequence's blocks whose KV is completely written known to later prompts."""
        if not self._config.prefix_caching:
            return
        size = self._config.block_size
        full = sequence.num_computed // size
        self._extend_hashes(sequence, full)
        for index in range(sequence.num_hashed_blocks, full):
            key = sequence.block_hashes[index]
            if key not in self._cached:
                block = self._blocks[sequence.block_table[index]]
                block.hash = key
                block.token_ids = tuple(sequence.token_ids[index * size : (index + 1) * size])
                self._cached[key] = block
        sequence.num_hashed_blocks = full

    def deallocate(self, sequence: Sequence) -> None:
        """Take all blocks back; a second call does nothing."""
        for block_id in reversed(sequence.block_table):
            block = self._blocks[block_id]
            block.ref_count -= 1
            if block.ref_count == 0:
                self._free[block_id] = block
        sequence.block_table = []

    def clear_cache(self) -> None:
        """Forget what the blocks hold: their KV is gone."""
        for block in self._cached.values():
            block.forget()
        self._cached.clear()

    def _match(self, sequence: Sequence) -> list[Block]:
        found: list[Block] = []
        if not self._config.prefix_caching:
            return found
        size = self._config.block_size
        for index in range((sequence.num_tokens - 1) // size):
            self._extend_hashes(sequence, index + 1)
            block = self._cached.get(sequence.block_hashes[index])
            tokens = tuple(sequence.token_ids[index * size : (index + 1) * size])
            if block is None or block.token_ids != tokens:
                break
            found.append(block)
        return found

    def _extend_hashes(self, sequence: Sequence, count: int) -> None:
        hashes, size = sequence.block_hashes, self._config.block_size
        for index in range(len(hashes), count):
            parent = hashes[-1] if hashes else self._salt(sequence.tenant)
            tokens = array("i", sequence.token_ids[index * size : (index + 1) * size]).tobytes()
            hashes.append(blake2b(parent + tokens, digest_size=16).digest())

    def _salt(self, tenant: str) -> bytes:
        return blake2b(repr((self._config.package_hash, tenant)).encode(), digest_size=16).digest()

    def _hold(self, block: Block) -> None:
        if block.ref_count == 0:
            del self._free[block.block_id]
        block.ref_count += 1

    def _uncache(self, block: Block) -> None:
        if block.hash is not None:
            del self._cached[block.hash]
            block.forget()
