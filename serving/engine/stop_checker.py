"""When an answer ends, and how much of its text is certain."""

from __future__ import annotations

from collections.abc import Iterable

from models.contract.sampling_params import SamplingParams
from serving.engine.finish_reason import FinishReason


class StopChecker:
    """Watches one answer for end ids, stop strings and its length.

    Text is held back only while it could be the beginning of a stop string: the longest suffix that
    is a proper prefix of one. Of several stop strings the one that ends first counts, as if text
    came character by character, so the answer does not depend on how tokens cut it.

    Args:
        params: stop strings, stop ids.
        eos_ids: the package's end ids.
        max_tokens: most tokens of the answer.
    """

    def __init__(self, params: SamplingParams, eos_ids: Iterable[int], max_tokens: int) -> None:
        self._stop = params.stop
        self._stop_ids = frozenset(params.stop_ids) | frozenset(() if params.ignore_eos else eos_ids)
        self._max_tokens = max_tokens
        self._held = ""
        self.finish_reason: FinishReason | None = None

    def is_stop_id(self, token_id: int) -> bool:
        """Whether the id ends the answer; such an id has no text."""
        return token_id in self._stop_ids

    def append_text(self, text: str) -> str:
        """Take new text, give what is certain; sets `finish_reason` when a stop string is complete."""
        if not self._stop or self.finish_reason is not None:
            return "" if self.finish_reason else text
        text = self._held + text
        cut = self._first_match(text)
        if cut is not None:
            self._held, self.finish_reason = "", FinishReason.STOP
            return text[:cut]
        certain = len(text) - self._suspicious(text)
        self._held = text[certain:]
        return text[:certain]

    def is_full(self, num_output_tokens: int) -> bool:
        """Whether the answer is as long as it may get."""
        return num_output_tokens >= self._max_tokens

    def end(self, reason: FinishReason) -> None:
        """End the answer for a reason found elsewhere, unless it has ended."""
        self.finish_reason = self.finish_reason or reason

    def flush(self) -> str:
        """The text held back: no more follows."""
        held, self._held = self._held, ""
        return held

    def _first_match(self, text: str) -> int | None:
        """Where the stop string starts that ends first in the text."""
        found = [(start + len(stop), start) for stop in self._stop if (start := text.find(stop)) >= 0]
        return min(found)[1] if found else None

    def _suspicious(self, text: str) -> int:
        """Length of the longest suffix that is a proper prefix of a stop string."""
        longest = min(len(text), max(map(len, self._stop)) - 1)
        for length in range(longest, 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stop):
                return length
        return 0
