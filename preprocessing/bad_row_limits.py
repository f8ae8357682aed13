"""BadRowLimits: how many broken rows a corpus may have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from models.contract.errors import DataError

_NAMED = 10
"""How many broken rows a message names."""


@dataclass(frozen=True, slots=True)
class BadRowLimits:
    """Thresholds that fail a run; both must hold.

    Args:
        fraction: largest share of a source's rows.
        rows: largest number in the whole corpus, or None.
    """

    fraction: float
    rows: int | None = None

    def check(self, counts: dict[str, tuple[int, int]], examples: Iterable[str]) -> None:
        """Refuse a corpus with too many broken rows.

        Args:
            counts: source → (broken rows, all rows).
            examples: the broken rows as messages name them, read only for a refusal.

        Raises:
            DataError: names the source, its numbers and the first broken rows.
        """
        for source, (bad, rows) in counts.items():
            if bad > self.fraction * rows:
                raise _refusal(
                    f"corpus source {source!r} has {bad} broken rows of {rows} ({bad / rows:.2%}), more than "
                    f"`corpus.max_bad_fraction` {self.fraction:g} allows",
                    (text for text in examples if text.startswith(f"{source}/")),
                    "corpus.max_bad_fraction",
                )
        total = sum(bad for bad, _ in counts.values())
        if self.rows is not None and total > self.rows:
            raise _refusal(
                f"the corpus has {total} broken rows, more than `corpus.max_bad_rows` {self.rows} allows",
                examples,
                "corpus.max_bad_rows",
            )


def _refusal(message: str, examples: Iterable[str], field: str) -> DataError:
    named = "".join(f"\n  {text}" for text in islice(examples, _NAMED))
    return DataError(
        f"{message}; the first are:{named}\n",
        field=field,
        remedy=f"Correct them, name other fields in the source, or raise `{field}`; allowed broken rows are "
        "left out and listed in dead_letters.jsonl.",
    )
