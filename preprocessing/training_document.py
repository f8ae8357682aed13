"""TrainingDocument: the ids of a text or of a conversation to train on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class TrainingDocument:
    """A document as Transform leaves it.

    Args:
        ids: int32 [N].
        learned: of a conversation, which ids are learned, bool [N]; None for plain text, where all are.
        weight: how often it is drawn in a pass over the corpus.
    """

    ids: np.ndarray
    learned: np.ndarray | None = None
    weight: float = 1.0

    def framed(
        self, end_id: int, begin_id: int | None = None, special_ids: frozenset[int] = frozenset()
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ids with their marks, int32 [M], and which of them are learned, bool [M].

        Plain text gets both marks. In a conversation the template has put them already; only an answer
        that ends it without a special token gets the end mark, so that a model learns to stop.

        Args:
            end_id: the mark behind a document; learned.
            begin_id: the mark before it, if there is one.
            special_ids: ids of special tokens.
        """
        if self.learned is None:
            begin = [] if begin_id is None else [begin_id]
            ids = np.concatenate([begin, self.ids, [end_id]]).astype(np.int32)
            return ids, np.ones(len(ids), bool)
        if self._stops(special_ids):
            return self.ids, self.learned
        return np.append(self.ids, np.int32(end_id)), np.append(self.learned, True)

    def framed_length(self, begin_id: int | None = None, special_ids: frozenset[int] = frozenset()) -> int:
        """How many ids `framed` gives."""
        if self.learned is None:
            return len(self.ids) + (1 if begin_id is None else 2)
        return len(self.ids) + (not self._stops(special_ids))

    def _stops(self, special_ids: frozenset[int]) -> bool:
        """Whether a conversation needs no end mark."""
        return not len(self.ids) or not self.learned[-1] or int(self.ids[-1]) in special_ids
