"""EvaluatedModel: what the evaluation asks of a model, package and checkpoint alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from components.perplexity_evaluator.completion import Completion
from models.scoring import Scorer


class EvaluatedModel(Scorer, Protocol):
    """A model that is in memory: it scores windows and completes prompts."""

    def complete(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Completion]:
        """Greedy completions.

        Args:
            prompts: ids of each, at least one; with room for `max_tokens` more in the model's context.
            max_tokens: at least 1.
        """
