"""WeightForms: the decoder's weights as a package stores them, and back; NumPy only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import ml_dtypes
import numpy as np

from models.packed.kernel_form import KernelForm

SCALES = "_scales"
"""Ending of the name of an int8 matrix's scales."""

PADDED = 64
"""Outputs are filled up with zeros to a multiple of this, so that they can be cut into equal slices."""

_LARGEST = 127
"""Largest magnitude of a quantised value; −128 is not used, so that the range is symmetric."""

_DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "int8": np.int8}
_PLAIN = "position_embedding"
"""A matrix that is only looked up, a row at a time."""


@dataclass(frozen=True, slots=True)
class WeightForms:
    """How a package stores matrices; norms, biases and learned positions stay float32 as they are.

    All matrices are stored as [out, in], whatever the profile: docs/decisions/015-decode-core.md. So a
    tied head is the embedding as it lies.

    Args:
        kernel: the form of all matrices.
    """

    kernel: KernelForm

    @classmethod
    def of(cls, profile: str, dtype: str) -> Self:
        """The forms of a package.

        Args:
            profile: "off", "latency" or "throughput".
            dtype: of the weights: "float32", "bfloat16" or "int8".
        """
        return cls(KernelForm(dtype, rounded=dtype == "int8" and profile == "throughput"))

    def pack(self, path: str, weight: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """A decoder weight in its stored form: (stored name, array) pairs.

        int8 rounds to the nearest multiple of an output's scale, its largest magnitude over 127.

        Args:
            path: the weight's name in `Decoder.named_weights`.
            weight: its value.
        """
        if not _is_matrix(path, weight):
            yield path, weight
            return
        rows = weight if path == "embedding" else weight.T
        rows = np.pad(rows, [(0, -len(rows) % PADDED), (0, 0)])
        if self.kernel.dtype == "int8":
            scales = (np.abs(rows).max(axis=1) / _LARGEST).astype(np.float32)
            # An output of zeros has no scale of its own.
            scales[scales == 0] = 1
            yield path + SCALES, scales
            rows = np.rint(rows / scales[:, None])
        yield path, np.ascontiguousarray(rows, dtype=_DTYPES[self.kernel.dtype])

    def unpack(self, path: str, stored: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        """The float32 decoder weight that stored arrays stand for; exact for float32.

        Args:
            path: the weight's name in `Decoder.named_weights`.
            stored: by stored name.
            shape: the decoder weight's.
        """
        values = stored[path]
        if not _is_matrix(path, values):
            return values
        rows = values.astype(np.float32, copy=False)
        if path + SCALES in stored:
            rows = rows * stored[path + SCALES][:, None]
        return rows[: shape[0]] if path == "embedding" else rows[: shape[1]].T


def _is_matrix(path: str, weight: np.ndarray) -> bool:
    return weight.ndim == 2 and path != _PLAIN
