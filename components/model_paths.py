"""Where a Model artifact keeps what it holds, after TFX's own layout."""

from __future__ import annotations

from pathlib import Path


def serving_directory(uri: str) -> Path:
    """The checkpoint or model package of a Model artifact."""
    return Path(uri) / "Format-Serving"
