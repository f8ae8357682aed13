"""Refuses requests that cannot be served, before they take any place."""

from __future__ import annotations

from collections.abc import Sequence as Ids

from models.contract.errors import ContextLengthError, InvalidRequestError
from models.contract.sampling_params import SamplingParams
from serving.engine.engine_config import EngineConfig

_CHANGING = ("repetition_penalty", "frequency_penalty", "presence_penalty", "logit_bias", "min_tokens")
"""Parameters that a package without `decode_full` cannot serve."""

_PLAIN = SamplingParams()


class RequestValidator:
    """Checks requests against the model's signatures, vocabulary, context and KV memory.

    Args:
        config: the limits.
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config

    def max_tokens(self, prompt_ids: Ids[int], params: SamplingParams, *, cap: bool) -> int:
        """Check a request, and give the most tokens it may generate.

        Args:
            prompt_ids: the prompt.
            params: its `max_tokens` is the wish.
            cap: the caller did not name `max_tokens`: cut it to what fits instead of refusing.

        Raises:
            InvalidRequestError: the prompt is empty, it or the biases have an id outside the vocabulary, or
                the package cannot change logits as asked.
            ContextLengthError: prompt and answer do not fit; names both lengths and the limit.
        """
        self._check_ids(prompt_ids)
        self._check_logits(params)
        limit, name = self._limit()
        room = limit - len(prompt_ids)
        if room < 1:
            raise ContextLengthError(
                f"the prompt has {len(prompt_ids)} tokens; with one token of answer that is "
                f"{len(prompt_ids) + 1}, and {name} is {limit}.",
                field="prompt",
                remedy=f"Shorten the prompt to at most {limit - 1} tokens.",
            )
        if params.max_tokens > room and not cap:
            raise ContextLengthError(
                f"the prompt has {len(prompt_ids)} tokens and `max_tokens` is {params.max_tokens}, "
                f"together {len(prompt_ids) + params.max_tokens}; {name} is {limit}.",
                field="max_tokens",
                remedy=f"Shorten the prompt or ask for at most {room} tokens.",
            )
        return min(params.max_tokens, room)

    def _check_ids(self, prompt_ids: Ids[int]) -> None:
        if not prompt_ids:
            raise InvalidRequestError(
                "the prompt is empty.", field="prompt", remedy="Send at least one token."
            )
        size = self._config.vocab_size
        wrong = next((i for i, token in enumerate(prompt_ids) if not 0 <= token < size), None)
        if wrong is not None:
            raise InvalidRequestError(
                f"prompt id {prompt_ids[wrong]} at position {wrong} is not in the vocabulary.",
                field="prompt",
                remedy=f"Ids go from 0 to {size - 1}.",
            )

    def _check_logits(self, params: SamplingParams) -> None:
        if not params.changes_logits:
            return
        if "decode_full" not in self._config.signatures:
            name = next(name for name in _CHANGING if getattr(params, name) != getattr(_PLAIN, name))
            value = getattr(params, name)
            raise InvalidRequestError(
                f"`{name}` is {value!r}, but the model package has no signature `decode_full`.",
                field=name,
                remedy="Leave it out, or export the package again with this version of Tokenmill.",
            )
        size = self._config.vocab_size
        wrong = next((token for token, _ in params.logit_bias if token >= size), None)
        if wrong is not None:
            raise InvalidRequestError(
                f"`logit_bias` has id {wrong}, which is not in the vocabulary.",
                field="logit_bias",
                remedy=f"Ids go from 0 to {size - 1}.",
            )

    def _limit(self) -> tuple[int, str]:
        """Most tokens of one sequence, and what sets the limit."""
        config = self._config
        if config.max_tokens_in_blocks < config.max_length:
            return config.max_tokens_in_blocks, "what all KV blocks hold"
        return config.max_length, "the model's context"
