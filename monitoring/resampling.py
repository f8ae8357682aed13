"""Bootstrap resampling of sums: units are drawn with replacement and their sums added up. Pure.

Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

_CHUNK = 2_000_000
"""Most resampled units that are held at once."""


def sums_by_unit(sums: npt.NDArray[np.float64], units: Sequence[Hashable]) -> npt.NDArray[np.float64]:
    """Add up the columns that are drawn together: [K, W] → [K, units].

    Args:
        sums: [K, W], K figures of each of W windows.
        units: [W], what each window belongs to, e.g. its document.

    Raises:
        ValueError: there are not as many units as windows.
    """
    if len(units) != sums.shape[1]:
        raise ValueError(f"{len(units)} units for {sums.shape[1]} windows.")
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    index = np.array([numbers[unit] for unit in units], np.int64)
    return np.stack([np.bincount(index, row, minlength=len(numbers)) for row in sums])


def resampled_sums(sums: npt.NDArray[np.float64], samples: int, seed: int) -> npt.NDArray[np.float64]:
    """Sums of resamples: [K, U] → [K, samples].

    Args:
        sums: [K, U], K figures of each of U units, at least one.
        samples: how many resamples, each of U units.
        seed: of the drawing.
    """
    random = np.random.default_rng(seed)
    count = sums.shape[1]
    per_chunk = max(1, _CHUNK // count)
    drawn = []
    for start in range(0, samples, per_chunk):
        index = random.integers(0, count, (min(per_chunk, samples - start), count))
        drawn.append(sums[:, index].sum(axis=2))
    return np.concatenate(drawn, axis=1)
