"""Why a request ended."""

from __future__ import annotations

from enum import StrEnum


class FinishReason(StrEnum):
    """What ended it: an end id or stop string, its length, the caller, or a failing model."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"
    ERROR = "error"
