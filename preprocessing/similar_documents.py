"""Near-duplicates and leaks among the documents of a plan: texts are read once more, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preprocessing.corpus_inventory import usable_records
from preprocessing.corpus_plan import DROPPED, EVAL, TRAIN, CorpusPlan, code_of
from preprocessing.leakage import Leakage
from preprocessing.leakage_config import LeakageConfig
from preprocessing.near_duplicate_config import NearDuplicateConfig
from preprocessing.near_duplicates import NearDuplicates
from preprocessing.records.read_settings import ReadSettings

Numbers = npt.NDArray[np.int64]
Settings = Callable[[str], ReadSettings]
"""How the files of a source are read."""


@dataclass(frozen=True, slots=True)
class _Key:
    """A document's number; a message calls it by its name."""

    number: int
    plan: CorpusPlan

    def __str__(self) -> str:
        return self.plan.name(self.number)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.number == other.number


def drop_near_duplicates(plan: CorpusPlan, config: NearDuplicateConfig, settings: Settings) -> None:
    """Find documents that nearly equal an earlier one and, with `action: drop`, leave them out.

    Raises:
        DataError: nothing is left in a split, or a file has changed.
    """
    if config.action == "off":
        return
    search = NearDuplicates(config)
    for number, text in _texts(plan, settings, (TRAIN, EVAL)):
        search.add(number, text)
    found = search.result()
    plan.near_duplicates = _pairs(found.duplicates.items())
    plan.drop(_pairs((number, number) for number in found.dropped))


def drop_leaks(plan: CorpusPlan, config: LeakageConfig, settings: Settings) -> None:
    """Find training documents that hold a held-out one's text and, with `action: drop`, leave them out.

    Documents that were near-duplicates are no longer looked at.

    Raises:
        DataError: there are leaks and `action` is "fail", nothing is left to train on, or a file has
            changed.
    """
    if config.action == "off":
        return
    search = Leakage(config)
    for number, text in _texts(plan, settings, (EVAL,)):
        search.add_held_out(_Key(number, plan), text)
    for number, text in _texts(plan, settings, (TRAIN,)):
        search.add_train(_Key(number, plan), text)
    found = search.result()
    plan.leaks = _pairs((leak.train, leak.held_out) for leak in found.leaks)
    plan.drop(_pairs((key, key) for key in found.dropped))


def _texts(plan: CorpusPlan, settings: Settings, splits: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Number and text of each kept document of the splits."""
    wanted = {code_of(split) for split in splits}
    for index, one in enumerate(plan.files):
        codes = plan.codes_of(index)
        if not wanted.intersection(codes.tolist() if len(codes) < 64 else np.unique(codes).tolist()):
            continue
        records = usable_records(one.file, settings(one.file.source))
        for place, record in enumerate(records):
            if codes[place] != DROPPED and codes[place] in wanted:
                yield int(plan.starts[index]) + place, record.compared.decode("utf-8")


def _pairs(found: Iterable[tuple[Hashable, Hashable]]) -> Numbers:
    numbers = [[key.number if isinstance(key, _Key) else key for key in pair] for pair in found]
    return np.array(sorted(numbers), np.int64).reshape(-1, 2)
