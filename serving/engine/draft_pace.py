"""DraftPace: how long one sequence's drafts are, and when it had better not draft."""

from __future__ import annotations

import math

FIRST_LENGTH = 4
FIRST_GAIN = 2.0
PAUSE_PER_COST = 32
LONGEST_PAUSE = 512


class DraftPace:
    """Follows how well one sequence's drafts do.

    A draft that was accepted whole is followed by one twice as long; one that was not, by one
    longer by one than what was accepted. While drafts bring fewer tokens than the same time of
    plain decoding would, pauses, each twice as long as the one before and the longer the dearer a
    call is, keep the loss small.

    Args:
        longest: most ids of a draft.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.length = min(FIRST_LENGTH, longest)
        self._gain = FIRST_GAIN
        self._failed = 0
        self._resume_at = 0

    def is_paused(self, num_output_tokens: int) -> bool:
        """Whether an answer of so many tokens had better not draft now."""
        return num_output_tokens < self._resume_at

    def verified(self, drafted: int, accepted: int, cost: float, num_output_tokens: int) -> None:
        """A draft was verified.

        Args:
            drafted: its ids, at least 1.
            accepted: those that were right.
            cost: of the call for this sequence, in plain steps.
            num_output_tokens: length of the answer now.
        """
        self._gain += (accepted + 1 - self._gain) / 2
        whole = accepted == drafted
        self.length = min(self._longest, max(self.length, 2 * drafted) if whole else accepted + 1)
        if self._gain >= cost:
            self._failed = 0
            return
        # What the call cost beyond a plain step is a small part of what the pause's tokens cost.
        pause = round(PAUSE_PER_COST * (cost - 1)) << min(self._failed, 8)
        self._resume_at = num_output_tokens + min(LONGEST_PAUSE, pause)
        self._failed += 1
        # The next draft is long enough to be worth its call if it is right.
        self.length = min(self._longest, max(FIRST_LENGTH, math.ceil(2 * cost)))
