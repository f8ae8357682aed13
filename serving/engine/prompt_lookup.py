"""PromptLookup: guesses what follows from what followed before."""

from __future__ import annotations

from collections.abc import Sequence as Ids

NGRAMS = (8, 5, 3)
"""Lengths of the endings that are looked up, longest first: a longer one promises more."""


class PromptLookup:
    """Finds where prompt and answer had the same ending before, and proposes what came next there.

    Each id costs one table entry per length, whatever the length of the text. Of several places
    with the same ending the newest counts. Source: Saxena, "Prompt Lookup Decoding" (2023).

    Args:
        ngrams: lengths of endings, longest first.
    """

    def __init__(self, ngrams: tuple[int, ...] = NGRAMS) -> None:
        self._tables: dict[int, dict[tuple[int, ...], int]] = {n: {} for n in ngrams}
        self._known = 0

    def draft(self, token_ids: Ids[int], count: int) -> tuple[int, ...]:
        """Up to `count` ids that may follow; empty if the text's ending is new.

        Where the guess reaches the end of the text it goes on with itself, as in a loop.

        Args:
            token_ids: the whole text so far; a later call's begins with an earlier one's.
            count: most ids to propose.
        """
        self._learn(token_ids)
        size = len(token_ids)
        for n, table in self._tables.items():
            start = table.get(tuple(token_ids[-n:])) if size > n else None
            if start is not None:
                period = size - start
                return tuple(token_ids[start + i % period] for i in range(count))
        return ()

    def _learn(self, token_ids: Ids[int]) -> None:
        """Note every ending that some id follows; the last one has no follower yet."""
        for end in range(self._known, len(token_ids)):
            for n, table in self._tables.items():
                if end >= n:
                    table[tuple(token_ids[end - n : end])] = end
        self._known = len(token_ids)
