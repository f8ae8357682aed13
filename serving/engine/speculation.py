"""Speculation: which running sequences guess ahead in the next step, and what came of it.

A guess never changes an answer: `verify` samples every position as plain decoding would, and
takes a guessed id only where it is the one sampled. What it may change is the time.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows

from serving.engine.draft_pace import DraftPace
from serving.engine.engine_config import EngineConfig
from serving.engine.prompt_lookup import PromptLookup
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.sequence import Sequence
from serving.engine.step_costs import StepCosts
from serving.engine.step_result import StepResult


class Speculation:
    """Prompt lookup for few rows; with more of them the processor has no time to spare.

    Args:
        config: whether to speculate, most rows, most ids of a draft.
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._enabled = config.speculation and "verify" in config.signatures
        self._costs = StepCosts()
        self.num_drafted = 0
        self.num_accepted = 0

    def drafts(self, rows: Rows[Sequence]) -> dict[str, tuple[int, ...]]:
        """Guesses by request; rows that have none are left out.

        Args:
            rows: all sequences that decode in the step.
        """
        if not self._enabled or len(rows) > self._config.max_speculative_rows:
            return {}
        found = {row.request_id: self._draft(row) for row in rows}
        return {request_id: draft for request_id, draft in found.items() if draft}

    def stepped(self, output: SchedulerOutput, result: StepResult) -> None:
        """Learn from a step's time what its kind of call costs."""
        if not self._enabled or output.fulls:
            return
        if output.decodes:
            self._costs.decoded(len(output.decodes), output.steps, result.decode_seconds)
        if output.verifies:
            self._costs.verified(len(output.verifies), _longest(output), result.decode_seconds)

    def verified(self, sequence: Sequence, output: SchedulerOutput, drafted: int, made: int) -> None:
        """A row of a verifying call brought `made` tokens, one more than were guessed right."""
        if not drafted or sequence.pace is None:
            return
        self.num_drafted += drafted
        self.num_accepted += made - 1
        num_output_tokens = sequence.num_output_tokens + made
        if made > 1:
            sequence.ramp_from = num_output_tokens
        sequence.pace.verified(drafted, made - 1, self._cost(output), num_output_tokens)

    def _cost(self, output: SchedulerOutput) -> float:
        """Plain steps of one row that a draft must be worth; rows without one are paid for by the others."""
        rows = len(output.verifies)
        drafting = sum(bool(row.draft_ids) for row in output.verifies)
        return 1 + (self._costs.ratio(rows, _longest(output)) - 1) * rows / drafting

    def _draft(self, sequence: Sequence) -> tuple[int, ...]:
        if sequence.pace is None or sequence.lookup is None:
            sequence.pace = DraftPace(self._config.max_draft_tokens)
            sequence.lookup = PromptLookup()
        if sequence.pace.is_paused(sequence.num_output_tokens):
            return ()
        room = min(sequence.num_remaining, self._config.max_length - sequence.num_computed) - 1
        count = min(sequence.pace.length, room)
        return sequence.lookup.draft(sequence.token_ids, count) if count > 0 else ()


def _longest(output: SchedulerOutput) -> int:
    return max(len(row.draft_ids) for row in output.verifies)
