"""What was read, kept and left out of a corpus, for people and for the run's record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from preprocessing.corpus_inventory import EXAMPLES
from preprocessing.corpus_plan import SPLITS, CorpusPlan, InspectedFile, code_of


def corpus_report(
    plan: CorpusPlan, *, actions: dict[str, dict[str, Any]], spans_left_out: Sequence[int] = ()
) -> dict[str, Any]:
    """The report as JSON values; of each kind of loss the number and the first examples.

    Args:
        plan: decided.
        actions: settings of `near_duplicates` and `leaks`, put beside their counts.
        spans_left_out: spans that are there but outside of the window.

    Returns:
        `rows`: read; `documents`: kept.
        `splits`: split → documents, bytes.
        `sources`: name → format → files, rows, documents, bytes and, by split, documents kept.
        `duplicates`, `superseded`, `near_duplicates`, `leaks`: count, examples as `left out = kept`.
        `blank`, `not_utf8`: count, examples; the latter are whole text files.
        `dead_letters`: count of broken rows, fraction of all rows, reasons → count.
        `spans`: read (span → documents kept), newest, left out; None if no source has spans.
    """
    rows = sum(one.summary.rows for one in plan.files)
    return {
        "rows": rows,
        "documents": len(plan.numbers()),
        "splits": {name: {"documents": len(plan.numbers(name)), "bytes": plan.size(name)} for name in SPLITS},
        "sources": _sources(plan),
        "duplicates": _losses(plan, plan.duplicates),
        "superseded": _losses(plan, plan.superseded),
        "near_duplicates": {**actions["near_duplicates"], **_losses(plan, plan.near_duplicates)},
        "leaks": {**actions["leaks"], **_losses(plan, plan.leaks)},
        "blank": _blank(plan.files),
        "not_utf8": _not_utf8(plan.files),
        "dead_letters": _dead_letters(plan.files, rows),
        "spans": _spans(plan, spans_left_out),
    }


def bad_row_counts(files: Sequence[InspectedFile]) -> dict[str, tuple[int, int]]:
    """Source → broken rows and all rows of its tables; texts are judged by `on_bad_utf8` alone."""
    counts: dict[str, tuple[int, int]] = {}
    for one in files:
        if one.file.format != "text":
            bad, rows = counts.get(one.file.source, (0, 0))
            counts[one.file.source] = (bad + one.summary.bad_rows, rows + one.summary.rows)
    return counts


def _sources(plan: CorpusPlan) -> dict[str, dict[str, dict[str, int]]]:
    found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for index, one in enumerate(plan.files):
        counts = found[one.file.source][one.file.format]
        codes = plan.codes_of(index)
        kept = one.documents["size"][codes != 0]
        counts.update(
            files=1,
            rows=one.summary.rows,
            broken=one.summary.bad_rows,
            documents=len(kept),
            bytes=int(kept.sum(dtype=np.int64)),
        )
        counts.update({name: int(np.count_nonzero(codes == code_of(name))) for name in SPLITS})
    return {source: {kind: dict(c) for kind, c in kinds.items()} for source, kinds in found.items()}


def _losses(plan: CorpusPlan, pairs: npt.NDArray[np.int64]) -> dict[str, Any]:
    named = [f"{plan.name(lost)} = {plan.name(kept)}" for lost, kept in pairs[:EXAMPLES].tolist()]
    return {"count": len(pairs), "examples": named}


def _blank(files: Sequence[InspectedFile]) -> dict[str, Any]:
    named = [
        f"{one.file.source}/{one.file.path}" + (f"#{row}" if row else "")
        for one in files
        for row in one.summary.blank_rows
    ]
    return {"count": sum(one.summary.blank for one in files), "examples": named[:EXAMPLES]}


def _not_utf8(files: Sequence[InspectedFile]) -> dict[str, Any]:
    bad = [one for one in files if one.summary.bad_text is not None]
    named = [f"{one.file.source}/{one.file.path}: {one.summary.bad_text}" for one in bad[:EXAMPLES]]
    return {"count": len(bad), "examples": named}


def _dead_letters(files: Sequence[InspectedFile], rows: int) -> dict[str, Any]:
    reasons: Counter[str] = Counter()
    for one in files:
        reasons.update(one.summary.reasons)
    count = reasons.total()
    return {"count": count, "fraction": count / rows if rows else 0.0, "reasons": dict(reasons.most_common())}


def _spans(plan: CorpusPlan, left_out: Sequence[int]) -> dict[str, Any] | None:
    kept: Counter[int] = Counter()
    for index, one in enumerate(plan.files):
        if one.file.span is not None:
            kept[one.file.span] += int(np.count_nonzero(plan.codes_of(index)))
    if not kept:
        return None
    return {
        "read": {str(span): kept[span] for span in sorted(kept)},
        "newest": max(kept),
        "left_out": list(left_out),
    }
