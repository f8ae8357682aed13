"""Which of many documents are copies, corrected or held out, on arrays: millions in seconds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from preprocessing.corpus_inventory import Documents

Numbers = npt.NDArray[np.int64]


def duplicates_of(documents: Documents, kept: npt.NDArray[np.bool_]) -> Numbers:
    """Documents whose content equals that of an earlier one, with the first of them.

    Args:
        documents: DOCUMENT [n].
        kept: [n] which of them to look at.

    Returns:
        [m, 2], ascending.
    """
    numbers = np.flatnonzero(kept)
    digests = documents["digest"][numbers]
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    firsts = _first_of_run((digests[order[1:]] == digests[order[:-1]]).all(axis=1), len(order))
    return _pairs(numbers[order], numbers[order][firsts])


def superseded_by(documents: Documents) -> Numbers:
    """Documents that have the id of a later one and other content, with the last of that id.

    Returns:
        [m, 2], ascending.
    """
    numbers = np.flatnonzero(documents["identifier"])
    identifiers, digests = documents["identifier"][numbers], documents["digest"][numbers]
    order = np.argsort(identifiers, kind="stable")[::-1]
    lasts = order[_first_of_run(identifiers[order[1:]] == identifiers[order[:-1]], len(order))]
    # Rows that say the same are copies, not corrections: of copies the first is kept.
    changed = (digests[order] != digests[lasts]).any(axis=1)
    return _pairs(numbers[order[changed]], numbers[lasts[changed]])


def held_out_ranks(groups: npt.NDArray[np.uint64], fraction: float) -> npt.NDArray[np.uint64]:
    """Ranks of the groups that are held out: those below the fraction, at least one and not all.

    Args:
        groups: ranks, ascending, at least two.
        fraction: of the range of ranks.
    """
    share = (groups >> np.uint64(16)).astype(np.float64) / 2**48
    count = int(np.count_nonzero(share < fraction))
    return groups[: min(max(count, 1), len(groups) - 1)]


def _first_of_run(same: npt.NDArray[np.bool_], count: int) -> Numbers:
    """For each of `count` places the place where its run of equals begins.

    Args:
        same: [count − 1] whether a place equals the one before it, from the second on.
        count: at least 0.
    """
    places = np.arange(count)
    places[1:][same] = 0
    return np.maximum.accumulate(places)


def _pairs(numbers: Numbers, others: Numbers) -> Numbers:
    """Pairs that differ, in the order of the first."""
    pairs = np.stack([numbers, others], axis=1)[numbers != others]
    return pairs[np.argsort(pairs[:, 0])]
