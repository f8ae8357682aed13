"""KernelForm: how a matrix lies in a package and how it is multiplied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelForm:
    """Layout and number format of one matrix.

    Args:
        dtype: of the stored values: "float32", "bfloat16" or "int8" (with one float32 scale per output).
        outputs_first: stored as [out, in] instead of [in, out].
        rounded: whether activations are rounded to 8 bits, each row with a scale of its own, before the
            product; for int8 only.
    """

    dtype: str = "float32"
    outputs_first: bool = False
    rounded: bool = False
