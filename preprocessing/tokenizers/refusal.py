"""How a tokenizer's files are refused: nothing is approximated."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from models.contract.errors import CheckpointError

_SHOWN = 160
_MOST_UNUSED = 1 << 16
"""Each id without a token costs the graph a piece; files of models have a few thousand at most."""


def refusal(source: Path, field: str, value: Any, supported: str) -> CheckpointError:
    """The error for a setting that would not be reproduced exactly.

    Args:
        source: file that asks for it.
        field: dotted name of the setting.
        value: what it is.
        supported: what it would have to be.
    """
    shown = json.dumps(value, ensure_ascii=False)
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
    return CheckpointError(
        f"{source}: `{field}` is {shown}, which cannot be reproduced exactly.",
        field=field,
        remedy=f"Supported: {supported}.",
    )


def check_gaps(source: Path, field: str, ids: Collection[int]) -> None:
    """Refuse ids that leave so many numbers unused that tables of all of them would not fit.

    Args:
        source: file that has them.
        field: dotted name of the setting.
        ids: distinct ids, at least one.
    """
    unused = max(ids) + 1 - len(ids)
    if unused > _MOST_UNUSED:
        supported = f"ids of which at most {_MOST_UNUSED} below the greatest are unused, not {unused}"
        raise refusal(source, field, max(ids), supported)


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        CheckpointError: the file is missing, unreadable or no JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be read: {error.strerror}.",
            field=str(path),
            remedy="Name a Hugging Face checkpoint directory or its tokenizer.json.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON: {error}.", field=str(path)) from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: holds {type(value).__name__}, not a JSON object.", field=str(path))
    return value
