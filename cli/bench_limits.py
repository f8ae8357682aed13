"""What a benchmark asks of a model: its context, and a package's KV blocks."""

from __future__ import annotations

from models.contract.errors import ConfigError
from models.contract.manifest import Manifest


def check_context(prompt: int, tokens: int, context: int, owner: str) -> None:
    """Check that prompt and answer fit: positions beyond the context would be measured as garbage.

    Args:
        prompt: ids per prompt.
        tokens: ids per answer.
        context: most ids of both.
        owner: what has that context, for the message.

    Raises:
        ConfigError: they do not.
    """
    if prompt + tokens > context:
        raise ConfigError(
            f"--prompt {prompt} and --tokens {tokens} make {prompt + tokens} ids, "
            f"the context of {owner} is {context}.",
            field="tokens",
            remedy=f"Together they may be at most {context}.",
        )


def check_package(manifest: Manifest, prompt: int, tokens: int, batch: int, owner: str) -> None:
    """Check that a package has the context and the KV blocks for a batch.

    Args:
        manifest: of the package, which has KV memory.
        prompt: ids per prompt.
        tokens: ids per answer.
        batch: rows.
        owner: the package, for the message.

    Raises:
        ConfigError: it has not.
    """
    check_context(prompt, tokens, manifest.max_length, owner)
    needed = blocks_needed(manifest.block_size, prompt + tokens, batch)
    if needed > manifest.num_blocks:
        raise ConfigError(
            f"--batch {batch} at --prompt {prompt} and --tokens {tokens} needs {needed} KV blocks, "
            f"{owner} has {manifest.num_blocks}.",
            field="batch",
            remedy="Choose smaller ones, or export the package with more --blocks.",
        )


def blocks_needed(block_size: int, length: int, batch: int) -> int:
    """KV blocks of so many rows of `length` ids, the null block counted."""
    return 1 + batch * -(-length // block_size)


def is_meant_for(profile: str, batch: int) -> bool:
    """Whether a package's profile is for that many rows; without XLA it is for all."""
    return {"latency": batch == 1, "throughput": batch > 1}.get(profile, True)
