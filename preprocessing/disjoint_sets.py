"""DisjointSets: numbers joined into clusters (union-find)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class DisjointSets:
    """Clusters of 0 … n − 1, each known by its smallest member; eight bytes per number.

    Args:
        count: n; at first each number is a cluster of its own.
    """

    def __init__(self, count: int) -> None:
        self._parent = np.arange(count)

    def first(self, member: int) -> int:
        """Smallest member of a cluster."""
        while self._parent[member] != member:
            self._parent[member] = self._parent[self._parent[member]]
            member = int(self._parent[member])
        return member

    def join(self, one: int, other: int) -> None:
        """Make two clusters one."""
        low, high = sorted((self.first(one), self.first(other)))
        self._parent[high] = low

    def followers(self) -> Iterator[int]:
        """All members but the first of each cluster, ascending."""
        yield from np.flatnonzero(self._parent != np.arange(len(self._parent))).tolist()
