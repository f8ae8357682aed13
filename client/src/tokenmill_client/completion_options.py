"""CompletionOptions: the parameters of a completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


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
    logprobs: int
    echo: bool
    token_ids: bool
    user: str


def request_body(prompt: str | Sequence[int], options: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON body of a streamed completion.

    Raises:
        TypeError: an option this client does not know.
    """
    unknown = sorted(options.keys() - CompletionOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(CompletionOptions.__annotations__)
        raise TypeError(f"{unknown[0]!r} is not an option of a completion; there are {known}")
    given = {name: value for name, value in options.items() if value is not None}
    if given.pop("token_ids", False):
        given["return_token_ids"] = True
    if "stop" in given and not isinstance(given["stop"], str):
        given["stop"] = list(given["stop"])
    body = {"prompt": prompt if isinstance(prompt, str) else list(prompt), **given}
    return {**body, "stream": True, "stream_options": {"include_usage": True}}
