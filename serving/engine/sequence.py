"""One request's tokens and where they stand."""

from __future__ import annotations

from collections.abc import Sequence as Ids

from models.contract.sampling_params import SamplingParams
from serving.engine.draft_pace import DraftPace
from serving.engine.finish_reason import FinishReason
from serving.engine.prompt_lookup import PromptLookup
from serving.engine.sequence_status import SequenceStatus


class Sequence:
    """A prompt and its answer so far.

    KV of positions 0 … num_computed − 1 is in the blocks. While it decodes, num_computed is
    num_tokens − 1: the last generated token's KV is written by the step that consumes it.

    Args:
        request_id: name given by the caller.
        prompt_ids: the prompt, at least one id.
        params: how to sample and when to end.
        max_tokens: most tokens to generate, already cut to what fits.
        tenant: whose prefix cache it shares.
        arrival: order of arrival, unique.
        arrival_time: seconds on the engine's clock.
        stream: whether someone reads the tokens as they come; otherwise a step may make more of them.
    """

    def __init__(
        self,
        request_id: str,
        prompt_ids: Ids[int],
        params: SamplingParams,
        *,
        max_tokens: int,
        tenant: str = "",
        arrival: int = 0,
        arrival_time: float = 0.0,
        stream: bool = True,
    ) -> None:
        self.request_id = request_id
        self.params = params
        self.max_tokens = max_tokens
        self.tenant = tenant
        self.arrival = arrival
        self.stream = stream
        self.token_ids = list(prompt_ids)
        self.num_prompt_tokens = len(self.token_ids)
        self.num_computed = 0
        self.num_cached_tokens = 0
        self.block_table: list[int] = []
        self.block_hashes: list[bytes] = []
        self.num_hashed_blocks = 0
        self.status = SequenceStatus.WAITING
        self.finish_reason: FinishReason | None = None
        self.num_failures = 0
        self.arrival_time = arrival_time
        self.scheduled_time: float | None = None
        self.last_token_time: float | None = None
        self.lookup: PromptLookup | None = None
        self.pace: DraftPace | None = None
        self.ramp_from = 0
        self.prefill_target = self._prefill_target()

    @property
    def num_tokens(self) -> int:
        """Tokens of prompt and answer."""
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        """Tokens generated so far."""
        return self.num_tokens - self.num_prompt_tokens

    @property
    def num_remaining(self) -> int:
        """Tokens it may still generate."""
        return self.max_tokens - self.num_output_tokens

    @property
    def changes_logits(self) -> bool:
        """Whether its next id is chosen from other logits than the network's own."""
        params = self.params
        changed = params.penalises or bool(params.logit_bias)
        return changed or self.num_output_tokens < params.min_tokens

    @property
    def is_prefilling(self) -> bool:
        """Whether KV of known tokens is missing."""
        return self.num_computed < self.prefill_target

    def append(self, token_id: int) -> None:
        """Take a generated token."""
        self.token_ids.append(token_id)

    def rewind(self) -> None:
        """Forget all KV: everything known so far is prefilled again."""
        self.num_computed = 0
        self.num_hashed_blocks = 0
        self.prefill_target = self._prefill_target()
        self.status = SequenceStatus.WAITING

    def _prefill_target(self) -> int:
        """Known tokens to prefill; the last one is run by `decode_full` where logits are changed."""
        return self.num_tokens - self.changes_logits
