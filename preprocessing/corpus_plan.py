"""CorpusPlan: which documents are kept and which split each goes to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, Self

from models.contract.errors import DataError
from preprocessing.corpus_document import CorpusDocument

TRAIN, EVAL = "train", "eval"
SPLITS = (TRAIN, EVAL)

_NAMED = 10
"""How many files a message names before it only counts."""


@dataclass(frozen=True, slots=True)
class CorpusPlan:
    """The kept documents by split, and what was left out.

    Args:
        splits: split name → documents in the order of the corpus.
        duplicates: documents whose bytes equal those of an earlier one, with that one.
        bad: documents that are not UTF-8.
        blank: documents of white space only.
    """

    splits: dict[str, list[CorpusDocument]]
    duplicates: list[tuple[CorpusDocument, CorpusDocument]] = field(default_factory=list)
    bad: list[CorpusDocument] = field(default_factory=list)
    blank: list[CorpusDocument] = field(default_factory=list)

    @classmethod
    def make(
        cls,
        documents: Sequence[CorpusDocument],
        *,
        group_depth: int,
        eval_fraction: float,
        seed: int,
        on_bad_utf8: Literal["fail", "skip"] = "fail",
    ) -> Self:
        """Drop what is broken, blank or there twice; hold out whole groups.

        A group is held out if its hash with the seed lies below `eval_fraction`: groups that come
        later never move the others. If that holds out none, the group of the smallest hash is.

        Raises:
            DataError: a document is not UTF-8 and `on_bad_utf8` is "fail", or nothing is left for one
                of the splits.
        """
        bad = [document for document in documents if document.bad_offset is not None]
        if bad and on_bad_utf8 == "fail":
            raise _bad_utf8(bad)
        blank = [document for document in documents if document.blank]
        kept, duplicates = _unique([d for d in documents if d.bad_offset is None and not d.blank])
        if not kept:
            raise DataError(
                f"the corpus has no text: {len(documents)} files, {len(blank)} blank, {len(bad)} not UTF-8.",
                remedy="Check the sources' paths and globs.",
            )
        if len({document.group(group_depth) for document in kept}) < 2:
            raise _indivisible(kept, len(duplicates), group_depth)
        held_out = _held_out({document.group(group_depth) for document in kept}, eval_fraction, seed)
        splits: dict[str, list[CorpusDocument]] = {TRAIN: [], EVAL: []}
        for document in kept:
            splits[EVAL if document.group(group_depth) in held_out else TRAIN].append(document)
        return cls(splits, duplicates, bad, blank)

    def report(self) -> dict[str, object]:
        """Counts and names for people and for the run's record."""
        return {
            "splits": {
                name: {"documents": len(documents), "bytes": sum(d.size for d in documents)}
                for name, documents in self.splits.items()
            },
            "duplicates": [f"{_name(copy)} = {_name(first)}" for copy, first in self.duplicates],
            "not_utf8": [f"{_name(d)} at byte {d.bad_offset}" for d in self.bad],
            "blank": [_name(d) for d in self.blank],
        }


def _unique(
    documents: Sequence[CorpusDocument],
) -> tuple[list[CorpusDocument], list[tuple[CorpusDocument, CorpusDocument]]]:
    first: dict[str, CorpusDocument] = {}
    duplicates = []
    for document in documents:
        original = first.setdefault(document.digest, document)
        if original is not document:
            duplicates.append((document, original))
    return list(first.values()), duplicates


def _held_out(groups: set[str], fraction: float, seed: int) -> set[str]:
    ranked = sorted(groups, key=lambda group: (_hash(group, seed), group))
    held_out = [group for group in ranked if _hash(group, seed) < fraction] or ranked[:1]
    return set(held_out[: len(groups) - 1])


def _indivisible(kept: Sequence[CorpusDocument], dropped: int, depth: int) -> DataError:
    """Why one group cannot become two splits, with the remedy that helps."""
    copies = f" ({dropped} more had the same bytes as an earlier one and were dropped)" if dropped else ""
    deepest = max(len(PurePosixPath(document.path).parts) for document in kept)
    enough = (d for d in range(depth + 1, deepest + 1) if len({doc.group(d) for doc in kept}) > 1)
    needed = next(enough, None)
    if len(kept) == 1:
        found = f"one document only, {_name(kept[0])!r}{copies}"
    else:
        found = f"{len(kept)} documents{copies}, all of one group, {kept[0].group(depth)!r}"
    raised = f"Set `corpus.group_depth: {needed}`, which makes groups of its subfolders or files, or add"
    return DataError(
        f"the corpus has {found}, and cannot be split into training and evaluation text.",
        field="sources" if needed is None else "group_depth",
        remedy=f"{'Add' if needed is None else raised} files with other text and other names.",
    )


def _hash(group: str, seed: int) -> float:
    """Uniform in [0, 1)."""
    digest = hashlib.sha256(f"{seed}\0{group}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _name(document: CorpusDocument) -> str:
    return f"{document.source}/{document.path}"


def _bad_utf8(bad: Sequence[CorpusDocument]) -> DataError:
    named = "".join(f"\n  {d.location}: byte {d.bad_offset}" for d in bad[:_NAMED])
    more = f"\n  and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    return DataError(
        f"{len(bad)} corpus file{'s are' if len(bad) > 1 else ' is'} not UTF-8 text; first broken byte:"
        f"{named}{more}\n",
        field=bad[0].location,
        remedy="Convert them to UTF-8, exclude them with a glob, or set `corpus.on_bad_utf8: skip`.",
    )
