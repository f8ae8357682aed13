"""How the decoder's weights lie in a checkpoint's tensors; NumPy only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.checkpoint_files import output_widths
from models.decoder_config import DecoderConfig


def join_tensors(path: str, tensors: Sequence[np.ndarray]) -> np.ndarray:
    """Checkpoint tensors → the decoder's weight `path`."""
    if path == "embedding" or tensors[0].ndim == 1:
        return tensors[0]
    return np.concatenate([tensor.T for tensor in tensors], axis=1)


def split_weight(path: str, weight: np.ndarray, config: DecoderConfig) -> list[np.ndarray]:
    """The decoder's weight `path` → checkpoint tensors, in the order of `weight_names`."""
    if path == "embedding" or weight.ndim == 1:
        return [weight]
    cuts = np.cumsum(output_widths(path, config))[:-1]
    return [np.ascontiguousarray(part.T) for part in np.split(weight, cuts, axis=1)]
