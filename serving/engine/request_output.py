"""What one step, or several merged, brought a request."""

from __future__ import annotations

from dataclasses import dataclass

from serving.engine.finish_reason import FinishReason
from serving.engine.token_output import TokenOutput


@dataclass(frozen=True, slots=True)
class RequestOutput:
    """New text and tokens of one request.

    Args:
        request_id: whose they are.
        text_delta: text that became certain; may be empty while a character or a possible stop
            string is incomplete.
        tokens: new tokens, the one that ended the answer included.
        finish_reason: None while the request goes on.
        num_prompt_tokens: length of the prompt.
        num_output_tokens: tokens generated so far, these included.
        num_cached_tokens: prompt tokens that the prefix cache already held at admission.
        error: why, if `finish_reason` is ERROR: a few words without a full stop.
    """

    request_id: str
    text_delta: str
    tokens: tuple[TokenOutput, ...]
    finish_reason: FinishReason | None
    num_prompt_tokens: int
    num_output_tokens: int
    num_cached_tokens: int = 0
    error: str | None = None

    @property
    def finished(self) -> bool:
        """Whether this is the request's last output."""
        return self.finish_reason is not None

    def merge(self, later: RequestOutput) -> RequestOutput:
        """This output and the next one of the same request as one."""
        return RequestOutput(
            request_id=self.request_id,
            text_delta=self.text_delta + later.text_delta,
            tokens=self.tokens + later.tokens,
            finish_reason=later.finish_reason,
            num_prompt_tokens=later.num_prompt_tokens,
            num_output_tokens=later.num_output_tokens,
            num_cached_tokens=later.num_cached_tokens,
            error=later.error,
        )
