"""What was read, kept and left out of a corpus, for people and for the run's record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from preprocessing.corpus_inventory import EXAMPLES
from preprocessing.corpus_plan import DROPPED, SPLITS, CorpusPlan, InspectedFile, code_of, document_path


def corpus_report(
    plan: CorpusPlan,
    *,
    actions: dict[str, dict[str, Any]],
    spans_left_out: Sequence[int] = (),
    spans_asked: str = "",
    spans_missing: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, Any]:
    """The report as JSON values; of each kind of loss the number and the first examples.

    Args:
        plan: decided.
        actions: settings of `near_duplicates` and `leaks`, put beside their counts.
        spans_left_out: spans that are there but outside of the window.
        spans_asked: the window in words.
        spans_missing: source → spans of the window that it lacks.

    Returns:
        `rows`: read; `documents`: kept.
        `splits`: split → documents, bytes.
        `sources`: one mapping per source and format: source, format, files, rows, broken, documents and
        bytes kept, and documents by split.
        `left_out`: kind of loss → count, and its action and threshold where it has some; kinds are
        `duplicates`, `superseded`, `near_duplicates`, `leaks`, `blank`, `not_utf8` (whole text files)
        and `broken_rows`. With `action: report` the counted documents were kept.
        `examples`: kind of loss → the first of them, as `left out = kept` where another was kept.
        `dead_letters`: count of the lines of dead_letters.jsonl, fraction of all rows, reason → count.
        `spans`: asked, read (span → documents kept), missing (source → spans), newest, left_out; None
            if no source has spans.
    """
    rows = sum(one.summary.rows for one in plan.files)
    letters = _dead_letters(plan.files, rows)
    counts, examples = _losses(plan)
    counts["broken_rows"] = letters["count"] - counts["not_utf8"]
    return {
        "rows": rows,
        "documents": len(plan.numbers()),
        "splits": {name: {"documents": len(plan.numbers(name)), "bytes": plan.size(name)} for name in SPLITS},
        "sources": _sources(plan),
        "left_out": {kind: {"count": count, **actions.get(kind, {})} for kind, count in counts.items()},
        "examples": {kind: named for kind, named in examples.items() if named},
        "dead_letters": letters,
        "spans": _spans(plan, spans_left_out, spans_asked, spans_missing or {}),
    }


def bad_row_counts(files: Sequence[InspectedFile]) -> dict[str, tuple[int, int]]:
    """Source → broken rows and all rows of its tables; texts are judged by `on_bad_utf8` alone."""
    counts: dict[str, tuple[int, int]] = {}
    for one in files:
        if one.file.format != "text":
            bad, rows = counts.get(one.file.source, (0, 0))
            counts[one.file.source] = (bad + one.summary.bad_rows, rows + one.summary.rows)
    return counts


def _sources(plan: CorpusPlan) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for index, one in enumerate(plan.files):
        codes = plan.codes_of(index)
        kept = one.documents["size"][codes != DROPPED]
        counts = found[one.file.source, one.file.format]
        counts.update(
            files=1,
            rows=one.summary.rows,
            broken=one.summary.bad_rows,
            documents=len(kept),
            bytes=int(kept.sum(dtype=np.int64)),
        )
        counts.update({name: int(np.count_nonzero(codes == code_of(name))) for name in SPLITS})
    return [{"source": source, "format": kind, **counts} for (source, kind), counts in found.items()]


def _losses(plan: CorpusPlan) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Kind of loss → count, and → the first examples."""
    pairs = {
        "duplicates": plan.duplicates,
        "superseded": plan.superseded,
        "near_duplicates": plan.near_duplicates,
        "leaks": plan.leaks,
    }
    counts = {kind: len(found) for kind, found in pairs.items()}
    examples = {
        kind: [f"{plan.name(lost)} = {plan.name(kept)}" for lost, kept in found[:EXAMPLES].tolist()]
        for kind, found in pairs.items()
    }
    bad = [one for one in plan.files if one.summary.bad_text is not None]
    counts["blank"] = sum(one.summary.blank for one in plan.files)
    counts["not_utf8"] = len(bad)
    examples["blank"] = [
        f"{one.file.source}/{document_path(one.file, row)}"
        for one in plan.files
        for row in one.summary.blank_rows
    ][:EXAMPLES]
    examples["not_utf8"] = [
        f"{one.file.source}/{one.file.path}: {one.summary.bad_text}" for one in bad[:EXAMPLES]
    ]
    return counts, examples


def _dead_letters(files: Sequence[InspectedFile], rows: int) -> dict[str, Any]:
    reasons: Counter[str] = Counter()
    for one in files:
        reasons.update(one.summary.reasons)
    count = reasons.total()
    return {"count": count, "fraction": count / rows if rows else 0.0, "reasons": dict(reasons.most_common())}


def _spans(
    plan: CorpusPlan, left_out: Sequence[int], asked: str, missing: Mapping[str, Sequence[int]]
) -> dict[str, Any] | None:
    kept: Counter[int] = Counter()
    for index, one in enumerate(plan.files):
        if one.file.span is not None:
            kept[one.file.span] += int(np.count_nonzero(plan.codes_of(index)))
    if not kept:
        return None
    return {
        "asked": asked,
        "missing": {source: list(spans) for source, spans in missing.items()},
        "read": {str(span): kept[span] for span in sorted(kept)},
        "newest": max(kept),
        "left_out": list(left_out),
    }
