"""CompletionOptions: the parameters of a completion."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from tokenmill_client.errors import UnsendableRequestError


class CompletionOptions(TypedDict, total=False):
    """All optional; the server's defaults hold for what is left out.

    Keys:
        model: name of the model; the server's only one by default.
        max_tokens: most tokens of the answer.
        temperature: 0 is greedy.
        top_p: keep the most probable ids that together reach it.
        top_k: keep the k best ids; 0 keeps all.
        min_p: drop ids less probable than min_p times the best one.
        seed: makes sampling repeatable.
        stop: string or strings that end the answer.
        frequency_penalty: taken off an id's logit for each time the answer has it; -2 to 2.
        presence_penalty: taken off an id's logit if the answer has it; -2 to 2.
        repetition_penalty: makes ids that occurred in prompt or answer less likely if above 1.
        logit_bias: numbers from -100 to 100 by token id, added to logits.
        min_tokens: no end id before so many tokens.
        logprobs: report log-probabilities of the tokens and of so many alternatives.
        echo: put the prompt before the answer.
        token_ids: report the answer's token ids.
        user: passed to the server's log.
    """

    model: str
    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    min_p: float
    seed: int
    stop: str | Sequence[str]
    frequency_penalty: float
    presence_penalty: float
    repetition_penalty: float
    logit_bias: Mapping[int, float]
    min_tokens: int
    logprobs: int
    echo: bool
    token_ids: bool
    user: str


def request_content(prompt: str | Sequence[int], options: Mapping[str, Any]) -> bytes:
    """The JSON body of a streamed completion, as it goes over the wire.

    Raises:
        TypeError: an option this client does not know.
        UnsendableRequestError: JSON cannot express a value, e.g. NaN or half a surrogate pair.
    """
    unknown = sorted(options.keys() - CompletionOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(CompletionOptions.__annotations__)
        raise TypeError(f"{unknown[0]!r} is not an option of a completion; there are {known}")
    given = {name: value for name, value in options.items() if value is not None}
    if given.pop("token_ids", False):
        given["return_token_ids"] = True
    body = {"prompt": prompt, **given, "stream": True, "stream_options": {"include_usage": True}}
    return b"{" + b",".join(_field(name, value) for name, value in body.items()) + b"}"


def _field(name: str, value: Any) -> bytes:
    try:
        if name in ("prompt", "stop") and not isinstance(value, str):
            value = list(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return f'"{name}":{text}'.encode()
    except (TypeError, ValueError) as error:
        raise UnsendableRequestError(f"`{name}` cannot be sent: {error}.", param=name) from error
