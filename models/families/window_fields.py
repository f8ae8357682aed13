"""WindowFields: how a family's config describes sliding-window attention."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowFields:
    """Names of config fields.

    Args:
        size: tokens a position sees, itself counted; null for all.
        switch: boolean without which `size` means nothing, or None if there is no such field.
        first_layer: number of the first layer with a window, or None if all layers have it.
    """

    size: str = "sliding_window"
    switch: str | None = None
    first_layer: str | None = None
