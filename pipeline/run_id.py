"""Ids of runs."""

from __future__ import annotations

import secrets
import time


def new_run_id() -> str:
    """An id that sorts by time, e.g. `20260301-174530-9f2c`."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
