"""How the decoder's weights lie in a checkpoint's tensors; NumPy only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.checkpoint_files import is_transposed, output_widths
from models.decoder_config import DecoderConfig


def join_tensors(path: str, tensors: Sequence[np.ndarray], config: DecoderConfig) -> np.ndarray:
    """Checkpoint tensors, in the order of `weight_names` → the decoder's weight `path`."""
    transposed = is_transposed(path, config)
    parts = [tensor.T if transposed else tensor for tensor in tensors]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def split_weight(path: str, weight: np.ndarray, config: DecoderConfig) -> list[np.ndarray]:
    """The decoder's weight `path` → checkpoint tensors, in the order of `weight_names`."""
    cuts = np.cumsum(output_widths(path, config))[:-1]
    parts = np.split(weight, cuts, axis=-1)
    transposed = is_transposed(path, config)
    return [np.ascontiguousarray(part.T if transposed else part) for part in parts]
