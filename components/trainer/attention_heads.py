"""Whether the attention heads that TensorBoard should show exist."""

from __future__ import annotations

from collections.abc import Sequence

from models.contract.errors import ConfigError
from models.decoder_config import DecoderConfig


def check_heads(heads: Sequence[tuple[int, int]], config: DecoderConfig) -> None:
    """Compare chosen heads with the model's.

    Raises:
        ConfigError: there is no such layer or head.
    """
    for layer, head in heads:
        if layer >= config.num_layers or head >= config.num_heads:
            raise ConfigError(
                f"`training.tensorboard.attention` names layer {layer}, head {head}; the model has layers "
                f"0 to {config.num_layers - 1} with heads 0 to {config.num_heads - 1}.",
                field="training.tensorboard.attention",
                remedy="Choose others.",
            )
