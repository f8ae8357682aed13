"""KernelForm: how a matrix lies in a package and how it is multiplied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelForm:
    """Number format and product of one matrix, which is stored as [out, in].

    Args:
        dtype: of the stored values: "float32", "bfloat16" or "int8" (with one float32 scale per output).
        rounded: whether activations are rounded to 8 bits, each row with a scale of its own, before the
            product; for int8 only.
    """

    dtype: str = "float32"
    rounded: bool = False
