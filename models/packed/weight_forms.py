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

_LARGEST = 127
"""Largest magnitude of a quantised value; −128 is not used, so that the range is symmetric."""

_DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "int8": np.int8}
_PLAIN = "position_embedding"
"""A matrix that is only looked up, a row at a time."""


@dataclass(frozen=True, slots=True)
class WeightForms:
    """Forms of a package's matrices; norms, biases and learned positions stay float32 as they are.

    Args:
        blocks: of the kernels of all blocks.
        head: of the output matrix and of the embedding, which is its transpose if they are tied.
    """

    blocks: KernelForm
    head: KernelForm

    @classmethod
    def of(cls, profile: str, dtype: str) -> Self:
        """The forms of a package; why these: docs/decisions/015-decode-core.md.

        Args:
            profile: "off", "latency" or "throughput".
            dtype: of the weights: "float32", "bfloat16" or "int8".
        """
        if dtype == "float32":
            # One row is quickest from [out, in], except through the head, whose outputs are many.
            return cls(KernelForm(outputs_first=profile == "latency"), KernelForm())
        rounded = dtype == "int8" and profile == "throughput"
        form = KernelForm(dtype, outputs_first=profile != "off", rounded=rounded)
        return cls(form, form)

    def form_of(self, path: str) -> KernelForm:
        """Form of the matrix that the decoder calls `path`."""
        return self.blocks if path.startswith("blocks/") else self.head

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
        form, matrix = self.form_of(path), weight.T if path == "embedding" else weight
        if form.dtype == "int8":
            scales = (np.abs(matrix).max(axis=0) / _LARGEST).astype(np.float32)
            # An output of zeros has no scale of its own.
            scales[scales == 0] = 1
            yield path + SCALES, scales
            matrix = np.rint(matrix / scales)
        stored = matrix.T if form.outputs_first else matrix
        yield path, np.ascontiguousarray(stored, dtype=_DTYPES[form.dtype])

    def unpack(self, path: str, stored: Mapping[str, np.ndarray]) -> np.ndarray:
        """The float32 decoder weight that stored arrays stand for; exact for float32.

        Args:
            path: the weight's name in `Decoder.named_weights`.
            stored: by stored name.
        """
        values = stored[path]
        if not _is_matrix(path, values):
            return values
        matrix = (values.T if self.form_of(path).outputs_first else values).astype(np.float32, copy=False)
        if path + SCALES in stored:
            matrix = matrix * stored[path + SCALES]
        return matrix.T if path == "embedding" else matrix


def _is_matrix(path: str, weight: np.ndarray) -> bool:
    return weight.ndim == 2 and path != _PLAIN
