"""Leakage: finds training documents that hold the text of held-out ones."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from models.contract.errors import DataError
from preprocessing.leakage_config import LeakageConfig
from preprocessing.shingles import Hashes, shingles

_SAMPLE = 256
"""Shingles kept of a held-out document, those of the smallest hashes: a sample that any text is asked for
alike (bottom-k sketch, Broder 1997); the share found is exact to 3 points at most (one standard deviation),
and exact for documents of no more shingles."""

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Leak:
    """A training document that holds a held-out one's text.

    Args:
        train: its key.
        held_out: the held-out document's key, that of the largest share.
        share: part of the held-out document's shingles in it.
    """

    train: Hashable
    held_out: Hashable
    share: float


@dataclass(frozen=True, slots=True)
class LeakageResult:
    """What was found.

    Args:
        leaks: in the order of the training documents.
        dropped: keys of training documents to leave out; none if they are only reported.
    """

    leaks: tuple[Leak, ...] = ()
    dropped: frozenset[Hashable] = frozenset()


class Leakage:
    """Fed all held-out documents first, then the training documents, one at a time.

    It keeps at most 3 KB per held-out document (5 KB while they come together) and nothing of training
    documents but the leaks. A near-duplicate of a held-out document holds its shingles too, so both are
    found alike.

    Args:
        config: with `action: off` texts are ignored.
    """

    def __init__(self, config: LeakageConfig) -> None:
        self._config = config
        self._keys: list[Hashable] = []
        self._samples: list[Hashes] = []
        self._leaks: list[Leak] = []

    def add_held_out(self, key: Hashable, text: str) -> None:
        """Take a held-out document in.

        Raises:
            ValueError: a training document was looked at already.
        """
        if self._config.action == "off":
            return
        if "_index" in self.__dict__:
            raise ValueError("held-out documents come before training documents")
        sample = np.unique(shingles(text, self._config.shingle))[:_SAMPLE]
        if len(sample):
            self._keys.append(key)
            self._samples.append(sample)

    def add_train(self, key: Hashable, text: str) -> Leak | None:
        """Look at a training document.

        Returns:
            The leak, if it is one.
        """
        if not self._keys:
            return None
        owners = self._index.owners(np.unique(shingles(text, self._config.shingle)))
        counts = np.bincount(owners, minlength=1)
        shares = counts / self._index.sizes[: len(counts)]
        best = int(np.argmax(shares))
        if shares[best] < self._config.threshold:
            return None
        leak = Leak(key, self._keys[best], round(float(shares[best]), 4))
        self._leaks.append(leak)
        return leak

    def result(self) -> LeakageResult:
        """All leaks.

        Raises:
            DataError: there are some and `action` is "fail".
        """
        if self._leaks and self._config.action == "fail":
            raise self._refusal()
        dropped = {leak.train for leak in self._leaks} if self._config.action == "drop" else ()
        return LeakageResult(tuple(self._leaks), frozenset(dropped))

    @cached_property
    def _index(self) -> _Index:
        index = _Index(self._samples)
        self._samples.clear()
        return index

    def _refusal(self) -> DataError:
        named = "".join(
            f"\n  {leak.train} holds {leak.share:.0%} of {leak.held_out}" for leak in self._leaks[:_NAMED]
        )
        more = f"\n  and {len(self._leaks) - _NAMED} more" if len(self._leaks) > _NAMED else ""
        return DataError(
            f"{len(self._leaks)} training documents hold at least {self._config.threshold:.0%} of a held-out "
            f"document's text:{named}{more}\n",
            field="corpus.leakage",
            remedy="Put them into one group, remove them, or set `corpus.leakage.action: drop`.",
        )


class _Index:
    """From a shingle to the held-out documents in whose sample it is.

    Args:
        samples: ascending hashes of each document.
    """

    def __init__(self, samples: list[Hashes]) -> None:
        self.sizes = np.array([len(sample) for sample in samples])
        hashes = np.concatenate(samples)
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._owners = np.repeat(np.arange(len(samples), dtype=np.int32), self.sizes)[order]

    def owners(self, wanted: Hashes) -> npt.NDArray[np.int32]:
        """Number of a document, once for each of its shingles among `wanted` (ascending, unique)."""
        low = np.searchsorted(self._hashes, wanted, "left")
        hit = low < len(self._hashes)
        hit[hit] = self._hashes[low[hit]] == wanted[hit]
        low = low[hit]
        counts = np.searchsorted(self._hashes, wanted[hit], "right") - low
        starts = np.repeat(low - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        return self._owners[starts + np.arange(len(starts))]
