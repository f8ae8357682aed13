"""The network that a configuration describes, for a vocabulary."""

from __future__ import annotations

from components.initial_model.from_scratch_config import FromScratchConfig
from models.decoder_config import DecoderConfig


def decoder_config(
    config: FromScratchConfig, vocab_size: int, *, eos_ids: tuple[int, ...], bos_id: int | None = None
) -> DecoderConfig:
    """A Llama decoder whose head is its embedding.

    Args:
        config: sizes.
        vocab_size: of the tokenizer.
        eos_ids: its ids that end an answer.
        bos_id: its begin-of-sequence id.

    Raises:
        CheckpointError: sizes that make no decoder.
    """
    return DecoderConfig(
        vocab_size=vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.mlp_width,
        num_layers=config.layers,
        num_heads=config.heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.hidden_size // config.heads,
        max_length=config.context,
        bos_id=bos_id,
        eos_ids=eos_ids,
    )
