"""Turns one sequence's generated ids into text and decides when it ends."""

from __future__ import annotations

from collections.abc import Iterable

from serving.engine.finish_reason import FinishReason
from serving.engine.incremental_detokenizer import IncrementalDetokenizer
from serving.engine.request_output import RequestOutput
from serving.engine.sequence import Sequence
from serving.engine.stop_checker import StopChecker
from serving.engine.token_output import TokenOutput


class OutputProcessor:
    """One request's way out of the engine.

    Args:
        sequence: takes the accepted ids.
        vocab: id → bytes.
        eos_ids: the package's end ids.
    """

    def __init__(self, sequence: Sequence, vocab: list[bytes], eos_ids: Iterable[int]) -> None:
        self.sequence = sequence
        self._detokenizer = IncrementalDetokenizer(vocab)
        self._checker = StopChecker(sequence.params, eos_ids, sequence.max_tokens)

    def accept(self, tokens: Iterable[TokenOutput]) -> RequestOutput:
        """Take ids until the answer ends; ids behind its end are dropped."""
        text, taken = "", []
        for token in tokens:
            taken.append(token)
            self.sequence.append(token.id)
            text += self._accept_one(token.id)
            if self._checker.finish_reason is not None:
                break
        return self._output(text, tuple(taken), self._checker.finish_reason)

    def end(self, reason: FinishReason, error: str | None = None) -> RequestOutput:
        """End the answer from outside; text held back comes out."""
        return self._output(self._close(reason), (), reason, error)

    def _accept_one(self, token_id: int) -> str:
        checker = self._checker
        if checker.is_stop_id(token_id):
            return self._close(FinishReason.STOP)
        text = checker.append_text(self._detokenizer.append([token_id]))
        if checker.finish_reason is None and checker.is_full(self.sequence.num_output_tokens):
            text += self._close(FinishReason.LENGTH)
        return text

    def _close(self, reason: FinishReason) -> str:
        """No more tokens: what was incomplete becomes certain, and may itself be a stop string."""
        text = self._checker.append_text(self._detokenizer.finish())
        self._checker.end(reason)
        return text + self._checker.flush()

    def _output(
        self,
        text: str,
        tokens: tuple[TokenOutput, ...],
        reason: FinishReason | None,
        error: str | None = None,
    ) -> RequestOutput:
        sequence = self.sequence
        sequence.finish_reason = reason
        return RequestOutput(
            request_id=sequence.request_id,
            text_delta=text,
            tokens=tokens,
            finish_reason=reason,
            num_prompt_tokens=sequence.num_prompt_tokens,
            num_output_tokens=sequence.num_output_tokens,
            num_cached_tokens=sequence.num_cached_tokens,
            error=error,
        )
