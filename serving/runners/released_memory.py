"""Memory that the C library keeps after it was freed."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


def release_freed_memory() -> None:
    """Give freed memory back to the system; does nothing where the C library cannot.

    What a session needs while it takes over a graph lies below what it keeps, so that the C library
    would hold it for good, 0.2 GB of SmolLM2-135M, while weights get new memory.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
