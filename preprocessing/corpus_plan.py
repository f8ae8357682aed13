"""CorpusPlan: which documents are kept and which split each goes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from models.contract.errors import DataError
from preprocessing.corpus_files import CorpusFile
from preprocessing.corpus_group import path_group
from preprocessing.corpus_inventory import Documents, FileSummary
from preprocessing.document_choice import duplicates_of, held_out_ranks, superseded_by

TRAIN, EVAL = "train", "eval"
SPLITS = (TRAIN, EVAL)

DROPPED = 0
"""Code of a document that is left out; 1 + index in SPLITS of one that is kept."""

_NAMED = 10
"""How many files a message names before it only counts."""

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """A file, its numbers and its documents.

    Args:
        file: it.
        summary: what was counted.
        documents: DOCUMENT of each.
    """

    file: CorpusFile
    summary: FileSummary
    documents: Documents


@dataclass(slots=True)
class CorpusPlan:
    """What becomes of each document; documents are known by their number in the whole corpus.

    Args:
        files: inspected, in the order of the corpus.
        documents: DOCUMENT of all files, joined.
        starts: [len(files) + 1] number of each file's first document.
        codes: of each document, DROPPED or 1 + index in SPLITS.
        duplicates: number of each whose content equals an earlier one's → that one; [n, 2].
        superseded: number of each that a later row of the same id corrects → that one; [n, 2].
        near_duplicates: likewise of nearly equal content; [n, 2].
        leaks: training documents that hold a held-out one's text → that one; [n, 2].
    """

    files: Sequence[InspectedFile]
    documents: Documents
    starts: Numbers
    codes: Codes
    duplicates: Numbers
    superseded: Numbers
    near_duplicates: Numbers = field(default_factory=lambda: np.empty((0, 2), np.int64))
    leaks: Numbers = field(default_factory=lambda: np.empty((0, 2), np.int64))

    @classmethod
    def make(
        cls,
        files: Sequence[InspectedFile],
        *,
        group_depth: int,
        eval_fraction: float,
        on_bad_utf8: Literal["fail", "skip"] = "fail",
    ) -> Self:
        """Drop what is broken, blank, corrected or there twice; hold out whole groups.

        A group is held out if its hash with the seed lies below `eval_fraction`: groups that come
        later never move the others. If that holds out none, the group of the smallest hash is.

        Raises:
            DataError: a text is not UTF-8 and `on_bad_utf8` is "fail", or nothing is left for one of the
                splits.
        """
        _check_texts(files, on_bad_utf8)
        documents = np.concatenate([one.documents for one in files])
        starts = np.cumsum([0, *(len(one.documents) for one in files)])
        superseded = superseded_by(documents)
        kept = np.ones(len(documents), bool)
        kept[superseded[:, 0]] = False
        duplicates = duplicates_of(documents, kept)
        kept[duplicates[:, 0]] = False
        plan = cls(files, documents, starts, kept.astype(np.uint8), duplicates, superseded)
        plan._split(group_depth, eval_fraction)
        return plan

    def numbers(self, split: str | None = None) -> Numbers:
        """Documents that are kept, of a split or of both, ascending."""
        wanted = self.codes != DROPPED if split is None else self.codes == code_of(split)
        return np.flatnonzero(wanted)

    def codes_of(self, index: int) -> Codes:
        """Codes of a file's documents."""
        return self.codes[self.starts[index] : self.starts[index + 1]]

    def size(self, split: str) -> int:
        """Bytes of text in a split."""
        return int(self.documents["size"][self.numbers(split)].sum(dtype=np.int64))

    def name(self, number: int) -> str:
        """Source, path and row of a document."""
        index = int(np.searchsorted(self.starts, number, "right")) - 1
        file, row = self.files[index].file, int(self.documents["row"][number])
        return f"{file.source}/{document_path(file, row)}"

    def drop(self, pairs: Numbers) -> None:
        """Leave out the documents of the first column.

        Raises:
            DataError: nothing is left in a split.
        """
        self.codes[pairs[:, 0]] = DROPPED
        for split in SPLITS:
            if not len(self.numbers(split)):
                raise DataError(
                    f"no document is left in the {split!r} split once near-duplicates and leaks are dropped.",
                    field="corpus.near_duplicates",
                    remedy="Add other text, or raise `corpus.near_duplicates.threshold` and "
                    "`corpus.leakage.threshold`, or set their `action: report`.",
                )

    def _split(self, group_depth: int, eval_fraction: float) -> None:
        kept = self.numbers()
        if not len(kept):
            raise self._no_text()
        groups = np.unique(self.documents["group"][kept])
        if len(groups) < 2:
            raise self._indivisible(kept, group_depth)
        held_out = np.isin(self.documents["group"], held_out_ranks(groups, eval_fraction))
        self.codes[self.codes != DROPPED] = code_of(TRAIN)
        self.codes[(self.codes != DROPPED) & held_out] = code_of(EVAL)

    def _no_text(self) -> DataError:
        counts = [
            (len(self.files), "files"),
            (sum(one.summary.rows for one in self.files), "rows"),
            (sum(one.summary.blank for one in self.files), "blank"),
            (sum(one.summary.bad_rows for one in self.files), "broken"),
        ]
        return DataError(
            f"the corpus has no text: {', '.join(f'{count} {what}' for count, what in counts)}.",
            remedy="Check the sources' paths and globs.",
        )

    def _indivisible(self, kept: Numbers, depth: int) -> DataError:
        """Why one group cannot become two splits, with the remedy that helps."""
        dropped = len(self.duplicates)
        copies = (
            f" ({dropped} more had the same content as an earlier one and were dropped)" if dropped else ""
        )
        needed, name = self._enough_depth(kept, depth), self.name(int(kept[0]))
        found = f"{len(kept)} documents{copies}, all of one group, that of {name!r}"
        if len(kept) == 1:
            found = f"one document only, {name!r}{copies}"
        deeper = f"Set `corpus.group_depth: {needed}`, which makes groups of its subfolders or files, or add"
        return DataError(
            f"the corpus has {found}, and cannot be split into training and evaluation text.",
            field="sources" if needed is None else "group_depth",
            remedy=f"{'Add' if needed is None else deeper} files with other text and other names, or rows of "
            "other groups.",
        )

    def _enough_depth(self, kept: Numbers, depth: int) -> int | None:
        """The smallest depth that makes two groups of text files, if there is one."""
        indices = np.unique(np.searchsorted(self.starts, kept, "right") - 1)
        files = [self.files[index].file for index in indices]
        paths = [file.path.removeprefix(file.prefix) for file in files if file.format == "text"]
        deepest = max((len(PurePosixPath(path).parts) for path in paths), default=0)
        depths = range(depth + 1, deepest + 1)
        return next((d for d in depths if len({path_group(path, d) for path in paths}) > 1), None)


def code_of(split: str) -> int:
    """Code of the documents of a split."""
    return 1 + SPLITS.index(split)


def document_path(file: CorpusFile, row: int) -> str:
    """What an example's `path` says: the file, and the row or piece if the file has several."""
    if file.format == "text":
        return f"{file.path}#{row:05d}" if row else file.path
    return f"{file.path}#{row}"


def _check_texts(files: Sequence[InspectedFile], on_bad_utf8: str) -> None:
    bad = [one for one in files if one.summary.bad_text is not None]
    if not bad or on_bad_utf8 == "skip":
        return
    named = "".join(f"\n  {one.file.location}: {one.summary.bad_text}" for one in bad[:_NAMED])
    more = f"\n  and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    raise DataError(
        f"{len(bad)} corpus file{'s are' if len(bad) > 1 else ' is'} not UTF-8 text; first broken byte:"
        f"{named}{more}\n",
        field=bad[0].file.location,
        remedy="Convert them to UTF-8, exclude them with a glob, or set `corpus.on_bad_utf8: skip`.",
    )
