"""Decode calls padded to a compiled shape, and their outputs cut back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.contract.signatures import NO_ID, NULL_BLOCK
from serving.runners.bucket import Bucket

Arrays = dict[str, NDArray[Any]]

_PADDING = {"block_table": NULL_BLOCK, "stop_ids": NO_ID, "top_p": 1.0}
"""What fills up rows, 0 unless said here: greedy, of length 0, in the null block."""


def pad_rows(arrays: Arrays, bucket: Bucket) -> Arrays:
    """Inputs of `decode` with the bucket's rows and block-table columns.

    Args:
        arrays: inputs of `decode` with at most the bucket's rows. Columns beyond the bucket's are cut:
            they belong to positions that the call does not reach.
        bucket: the shape.
    """
    padded = {
        name: value if value.ndim == 0 else _more_rows(name, value, bucket.rows)
        for name, value in arrays.items()
    }
    table = padded["block_table"][:, : bucket.columns]
    missing = bucket.columns - table.shape[1]
    padded["block_table"] = np.pad(table, ((0, 0), (0, missing)), constant_values=NULL_BLOCK)
    return padded


def cut_rows(outputs: Arrays, rows: int) -> Arrays:
    """Outputs of the first `rows` rows; scalars stay."""
    return {name: value if np.ndim(value) == 0 else value[:rows] for name, value in outputs.items()}


def groups_of_rows(arrays: Arrays, size: int) -> list[Arrays]:
    """Inputs of several calls with `size` rows each, the last one with what is left; scalars go to all."""
    return [
        {name: value if value.ndim == 0 else value[at : at + size] for name, value in arrays.items()}
        for at in range(0, len(arrays["last_id"]), size)
    ]


def joined_rows(outputs: list[Arrays]) -> Arrays:
    """Outputs of such calls as if of one; of scalars the last call's, which knows the newest nonce."""
    if len(outputs) == 1:
        return outputs[0]
    return {
        name: value if np.ndim(value) == 0 else np.concatenate([made[name] for made in outputs])
        for name, value in outputs[-1].items()
    }


def null_rows(bucket: Bucket) -> Arrays:
    """Inputs of a call of one step that reads and writes the null block only."""
    none = np.zeros(0, np.int32)
    empty: Arrays = {
        "last_id": none,
        "length": none,
        "block_table": none.reshape(0, 1),
        "temperature": none.astype(np.float32),
        "top_k": none,
        "top_p": none.astype(np.float32),
        "min_p": none.astype(np.float32),
        "seed": none.astype(np.int64),
        "stop_ids": none.reshape(0, 1),
        "steps": np.array(1, np.int32),
    }
    return pad_rows(empty, bucket)


def _more_rows(name: str, value: NDArray[Any], rows: int) -> NDArray[Any]:
    width = [(0, rows - len(value)), *[(0, 0)] * (value.ndim - 1)]
    return np.pad(value, width, constant_values=_PADDING.get(name, 0))
