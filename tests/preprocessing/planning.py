"""Inspected files made by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from preprocessing.corpus_files import CorpusFile
from preprocessing.corpus_group import group_rank, path_group
from preprocessing.corpus_inventory import DOCUMENT, FileSummary
from preprocessing.corpus_plan import CorpusPlan, InspectedFile


def number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def text_file(
    path: str,
    content: str | None = None,
    *,
    source: str = "s",
    seed: int = 0,
    depth: int = 1,
    **summary: object,
) -> InspectedFile:
    """A text of ten bytes whose content only counts for being equal; blank or broken ones have none."""
    file = CorpusFile(source, path, f"base/{path}", 10, 0)
    rows = [(content or path, "", path_group(path, depth), 0)]
    return inspected(file, [] if summary else rows, seed, FileSummary(**{"rows": 1, **summary}))


def row_file(
    path: str,
    rows: Sequence[tuple[str, str, str]],
    *,
    source: str = "s",
    seed: int = 0,
    span: int | None = None,
) -> InspectedFile:
    """JSON Lines of rows (content, id, group)."""
    file = CorpusFile(source, path, f"base/{path}", 10, 0, "jsonl", span)
    numbered = [(*row, place) for place, row in enumerate(rows, start=1)]
    return inspected(file, numbered, seed, FileSummary(rows=len(rows)))


def inspected(
    file: CorpusFile, rows: Sequence[tuple[str, str, str, int]], seed: int, summary: FileSummary
) -> InspectedFile:
    described = [
        (
            (number(content), number(content) // 2),
            number(identifier) if identifier else 0,
            group_rank(group, seed),
            row,
            10,
        )
        for content, identifier, group, row in rows
    ]
    return InspectedFile(file, summary, np.array(described, DOCUMENT).reshape(-1))


def plan(files: Sequence[InspectedFile], **changes: object) -> CorpusPlan:
    return CorpusPlan.make(files, **{"group_depth": 1, "eval_fraction": 0.3, **changes})


def names(made: CorpusPlan, split: str | None = None) -> list[str]:
    return [made.name(found) for found in made.numbers(split)]
