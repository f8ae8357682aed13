"""How far each running sequence goes in the next step."""

from __future__ import annotations

from dataclasses import dataclass, field

from serving.engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """Positions that the next step writes.

    Args:
        steps: tokens per plain row; 1 wherever rows of another kind take part.
        drafts: guessed ids by request; if there are any, all plain rows are verified.
    """

    steps: int = 1
    drafts: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def ahead(self, sequence: Sequence) -> int:
        """Positions that the sequence writes in the step."""
        return self.steps + len(self.drafts.get(sequence.request_id, ()))
