"""SamplingParams: how one request wants its tokens chosen and when it ends."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from models.contract.errors import InvalidRequestError
from models.contract.signatures import TOP_LOGPROBS

MAX_STOP_STRINGS = 4
MAX_BIASES = 300
SMALLEST = 2.0**-126
"""The smallest normal float32, which models compute in: what is less may count as 0 there."""
SMALLEST_PENALTY = 1e-6
"""Logits divided by less could exceed float32."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Parameters of one request; immutable, validated on construction.

    Args:
        max_tokens: most tokens to generate, at least 1.
        temperature: 0 is greedy; otherwise logits are divided by it. 2⁻¹²⁶ to 2.
        top_k: keep the k best ids; 0 keeps all.
        top_p: keep the smallest set of best ids whose probability reaches it; 2⁻¹²⁶ to 1.
        min_p: drop ids less probable than min_p times the best one; in [0, 1].
        seed: int64; the same seed, prompt and package give the same tokens whoever shares the batch.
        stop: strings that end the answer; at most 4, none empty. Not part of the text.
        stop_ids: ids that end the answer besides the package's own end ids.
        ignore_eos: go on past the package's end ids.
        repetition_penalty: logits of ids that occurred in prompt or answer are divided by it if positive,
            else multiplied; 1 is off. 1e-6 to 2. Source: Keskar et al., "CTRL" (2019).
        frequency_penalty: taken off an id's logit for each time the answer has it; −2 to 2.
        presence_penalty: taken off an id's logit if the answer has it; −2 to 2.
        logit_bias: (id, bias) pairs added to logits, −100 to 100; at most 300, no id twice, none negative.
        min_tokens: no end id before so many tokens of the answer; at most `max_tokens`.
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
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    min_tokens: int = 0
    logprobs: int | None = None

    def __post_init__(self) -> None:
        _check("max_tokens", self.max_tokens, self.max_tokens >= 1, "an integer of at least 1")
        self._check_temperature()
        _check("top_k", self.top_k, 0 <= self.top_k < 2**31, "0 (off) or a positive integer")
        self._check_top_p()
        _check("min_p", self.min_p, 0 <= self.min_p <= 1, "a number from 0 to 1")
        _check("seed", self.seed, -(2**63) <= self.seed < 2**63, "a 64-bit integer")
        stop_ok = len(self.stop) <= MAX_STOP_STRINGS and all(self.stop)
        _check("stop", list(self.stop), stop_ok, f"at most {MAX_STOP_STRINGS} non-empty strings")
        repetition_ok = SMALLEST_PENALTY <= self.repetition_penalty <= 2
        repetition_wanted = f"a number from {SMALLEST_PENALTY:g} to 2"
        _check("repetition_penalty", self.repetition_penalty, repetition_ok, repetition_wanted)
        for name in ("frequency_penalty", "presence_penalty"):
            value = getattr(self, name)
            _check(name, value, -2 <= value <= 2, "a number from -2 to 2")
        self._check_bias()
        min_ok = 0 <= self.min_tokens <= self.max_tokens
        _check("min_tokens", self.min_tokens, min_ok, f"0 to `max_tokens` ({self.max_tokens})")
        logprobs_ok = self.logprobs is None or 0 <= self.logprobs <= TOP_LOGPROBS
        _check("logprobs", self.logprobs, logprobs_ok, f"an integer from 0 to {TOP_LOGPROBS}")

    def _check_temperature(self) -> None:
        _check("temperature", self.temperature, 0 <= self.temperature <= 2, "a number from 0 to 2")
        # It would divide by 0, and whether that is greedy would depend on the hardware.
        held = self.temperature == 0 or self.temperature >= SMALLEST
        _check("temperature", self.temperature, held, f"0, which is greedy, or from {SMALLEST:.3g} to 2")

    def _check_top_p(self) -> None:
        ok = SMALLEST <= self.top_p <= 1
        wanted = f"a number from {SMALLEST:.3g} to 1; for the best id alone use `temperature` 0 or `top_k` 1"
        _check("top_p", self.top_p, ok, wanted)

    def _check_bias(self) -> None:
        ids = [token_id for token_id, _ in self.logit_bias]
        twice = [token_id for token_id, count in Counter(ids).items() if count > 1][:1]
        known = len(ids) <= MAX_BIASES and not twice
        wanted = f"at most {MAX_BIASES} ids, each once" + "".join(f" ({i} is given twice)" for i in twice)
        _check("logit_bias", f"{len(ids)} pairs", known, wanted)
        for token_id, bias in self.logit_bias:
            _check("logit_bias", {token_id: bias}, token_id >= 0, "of ids of at least 0")
            _check("logit_bias", bias, -100 <= bias <= 100, f"a number from -100 to 100 for id {token_id}")

    @property
    def changes_logits(self) -> bool:
        """Whether ids are chosen from other logits than the network's own: a step of its own kind."""
        return self.penalises or bool(self.logit_bias) or self.min_tokens > 0

    @property
    def penalises(self) -> bool:
        """Whether ids that occurred before are more or less likely for it."""
        return (self.repetition_penalty, self.frequency_penalty, self.presence_penalty) != (1.0, 0.0, 0.0)


def _check(field: str, value: object, ok: bool, wanted: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        ok = False
    if not ok:
        raise InvalidRequestError(f"`{field}` is {value!r}.", field=field, remedy=f"It must be {wanted}.")
