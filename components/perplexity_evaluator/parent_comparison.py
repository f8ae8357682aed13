"""ParentComparison: a package of quantised weights beside the float32 weights it was made of."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring.paired_comparison import PairedComparison

PARENT_LABEL = "float32 parent"
"""What the parent is called in sentences and progress."""


@dataclass(frozen=True, slots=True)
class ParentComparison:
    """Both on the same held-out windows.

    Args:
        dtype: of the package's weights, e.g. "int8".
        path: the parent's checkpoint or package.
        comparison: the package as candidate, the parent as baseline.
    """

    dtype: str
    path: str
    comparison: PairedComparison
