"""Completions of candidate and baseline side by side: as plain values, and as figures to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.perplexity_evaluator.completion import Completion
from components.perplexity_evaluator.sample_prompt import SamplePrompt
from monitoring.text_checks import TextFigures


@dataclass(frozen=True, slots=True)
class Samples:
    """What both models made of the same prompts.

    Args:
        prompts: what was asked.
        candidate: one completion per prompt.
        baseline: the same of the baseline.
        token_bytes: bytes of each id.
    """

    prompts: Sequence[SamplePrompt]
    candidate: Sequence[Completion]
    baseline: Sequence[Completion]
    token_bytes: Sequence[bytes]

    @property
    def figures(self) -> tuple[TextFigures, TextFigures]:
        """Repetition, variety, length and emptiness of candidate and baseline."""
        return self._figures(self.candidate), self._figures(self.baseline)

    def to_json(self) -> list[dict[str, Any]]:
        """One mapping per prompt."""
        rows = zip(self.prompts, self.candidate, self.baseline, strict=True)
        return [
            {
                "source": prompt.source,
                "document": prompt.document,
                "prompt": self._text(prompt.ids),
                "reference": self._text(prompt.reference),
                "candidate": self._completion(ours),
                "baseline": self._completion(theirs),
            }
            for prompt, ours, theirs in rows
        ]

    def _completion(self, completion: Completion) -> dict[str, Any]:
        return {
            "text": self._text(completion.ids),
            "tokens": len(completion.ids),
            "ended": completion.ended,
        }

    def _figures(self, completions: Sequence[Completion]) -> TextFigures:
        ids = [completion.ids for completion in completions]
        return TextFigures.measure(ids, [self._text(row) for row in ids])

    def _text(self, ids: Sequence[int]) -> str:
        # A network may have more ids than its vocabulary: they stand for nothing.
        known = (self.token_bytes[i] for i in ids if i < len(self.token_bytes))
        return b"".join(known).decode("utf-8", "replace")
