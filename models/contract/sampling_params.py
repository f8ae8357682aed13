"""SamplingParams: how one request wants its tokens chosen and when it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from models.contract.errors import InvalidRequestError
from models.contract.signatures import TOP_LOGPROBS

MAX_STOP_STRINGS = 4


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Parameters of one request; immutable, validated on construction.

    Args:
        max_tokens: most tokens to generate, at least 1.
        temperature: 0 is greedy; otherwise logits are divided by it. At most 2.
        top_k: keep the k best ids; 0 keeps all.
        top_p: keep the smallest set of best ids whose probability reaches it; in (0, 1].
        min_p: drop ids less probable than min_p times the best one; in [0, 1].
        seed: int64; the same seed, prompt and package give the same tokens whoever shares the batch.
        stop: strings that end the answer; at most 4, none empty. Not part of the text.
        stop_ids: ids that end the answer besides the package's own end ids.
        ignore_eos: go on past the package's end ids.
        logprobs: how many alternatives to report per token, 0 to 20, or None for no logprobs.

    Raises:
        InvalidRequestError: a value is outside its range; `field` names it.
    """

    max_tokens: int = 16
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    stop_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    logprobs: int | None = None

    def __post_init__(self) -> None:
        _check("max_tokens", self.max_tokens, self.max_tokens >= 1, "an integer of at least 1")
        _check("temperature", self.temperature, 0 <= self.temperature <= 2, "a number from 0 to 2")
        _check("top_k", self.top_k, 0 <= self.top_k < 2**31, "0 (off) or a positive integer")
        _check("top_p", self.top_p, 0 < self.top_p <= 1, "a number above 0 and at most 1")
        _check("min_p", self.min_p, 0 <= self.min_p <= 1, "a number from 0 to 1")
        _check("seed", self.seed, -(2**63) <= self.seed < 2**63, "a 64-bit integer")
        stop_ok = len(self.stop) <= MAX_STOP_STRINGS and all(self.stop)
        _check("stop", list(self.stop), stop_ok, f"at most {MAX_STOP_STRINGS} non-empty strings")
        logprobs_ok = self.logprobs is None or 0 <= self.logprobs <= TOP_LOGPROBS
        _check("logprobs", self.logprobs, logprobs_ok, f"an integer from 0 to {TOP_LOGPROBS}")


def _check(field: str, value: object, ok: bool, wanted: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        ok = False
    if not ok:
        raise InvalidRequestError(f"`{field}` is {value!r}.", field=field, remedy=f"It must be {wanted}.")
