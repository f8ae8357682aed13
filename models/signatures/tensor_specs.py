"""The contract's signatures in TensorFlow's terms."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from models.contract.signatures import SIGNATURES, TensorSpec

Endpoint = Callable[..., dict[str, tf.Tensor]]
"""Takes a signature's inputs by position, returns its outputs by name."""


def input_specs(signature: str) -> list[tf.TensorSpec]:
    """Specs of a signature's inputs, in the contract's order; letters are dimensions left open."""
    return [
        tf.TensorSpec(_shape(spec), tf.as_dtype(spec.dtype), name=name)
        for name, spec in SIGNATURES[signature].inputs.items()
    ]


def _shape(spec: TensorSpec) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in spec.shape]
