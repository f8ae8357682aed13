"""Sizes and limits of one engine."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from models.contract.errors import ConfigError
from models.contract.manifest import Manifest
from models.contract.signatures import MAX_XLA_STEPS, SIGNATURES


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Sizes taken from the package's manifest, limits chosen by whoever runs the engine.

    Args:
        vocab_size: ids are 0 … vocab_size − 1.
        max_length: most tokens of prompt and answer together.
        block_size: tokens per KV block.
        num_blocks: KV blocks, the null block counted.
        package_hash: salt of the prefix cache; blocks of another package never match.
        max_num_seqs: most sequences that run together.
        max_num_batched_tokens: most tokens per step, decode positions included.
        mixed_prefill_tokens: most prompt tokens in a step that also decodes; bounds how long a long
            prompt can hold up running streams.
        max_decode_steps: most tokens per sequence and step while nobody waits.
        max_bulk_steps: the same while nobody reads the tokens as they come.
        max_waiting: most requests that wait beyond the `max_num_seqs` that can run.
        max_waiting_tokens: most prompt tokens in the waiting queue.
        prefix_caching: whether blocks of finished sequences may be found again.
        speculation: whether answers guess ahead where a text repeats itself; tokens stay the same.
        max_speculative_rows: most sequences that run together for any of them to guess ahead.
        max_draft_tokens: most tokens guessed at once.
        signatures: what the package can do; requests that need more are refused.

    Raises:
        ConfigError: a size or limit is out of range; the message names it.
    """

    vocab_size: int
    max_length: int
    block_size: int
    num_blocks: int
    package_hash: str = ""
    max_num_seqs: int = 16
    max_num_batched_tokens: int = 512
    mixed_prefill_tokens: int = 128
    max_decode_steps: int = 4
    max_waiting: int = 256
    max_waiting_tokens: int = 262_144
    prefix_caching: bool = True
    speculation: bool = True
    max_bulk_steps: int = MAX_XLA_STEPS
    max_speculative_rows: int = 2
    max_draft_tokens: int = 16
    signatures: tuple[str, ...] = tuple(SIGNATURES)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) is int and value < 1:
                raise ConfigError(
                    f"`{field.name}` is {value}.", field=field.name, remedy="It must be positive."
                )
        if self.num_blocks < 2:
            raise ConfigError(
                f"`num_blocks` is {self.num_blocks}.",
                field="num_blocks",
                remedy="It must be at least 2: the null block and one to use.",
            )
        if self.max_num_batched_tokens <= self.max_num_seqs:
            raise ConfigError(
                f"`max_num_batched_tokens` is {self.max_num_batched_tokens} with `max_num_seqs` "
                f"{self.max_num_seqs}.",
                field="max_num_batched_tokens",
                remedy="It must be greater than `max_num_seqs`, or prompts never get a turn.",
            )

    @classmethod
    def from_manifest(cls, manifest: Manifest, **limits: Any) -> Self:
        """Sizes of a package with the given limits."""
        return cls(
            vocab_size=manifest.dims.vocab_size,
            max_length=manifest.max_length,
            block_size=manifest.block_size,
            num_blocks=manifest.num_blocks,
            package_hash=manifest.content_hash,
            signatures=manifest.signatures,
            **limits,
        )

    @property
    def num_usable_blocks(self) -> int:
        """Blocks that sequences can hold."""
        return self.num_blocks - 1

    @property
    def max_tokens_in_blocks(self) -> int:
        """Longest sequence that fits into all blocks; the last token's KV is never written."""
        return self.num_usable_blocks * self.block_size + 1

    def num_blocks_for(self, positions: int) -> int:
        """Blocks that hold the KV of so many positions."""
        return -(-positions // self.block_size)
