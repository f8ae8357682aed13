"""CompletionRequest: the body of `POST /v1/completions`."""

from __future__ import annotations

import difflib
import secrets
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from models.contract.errors import InvalidRequestError
from models.contract.sampling_params import SamplingParams

Prompt = str | tuple[int, ...]

_NOT_OFFERED: dict[str, tuple[Any, ...]] = {
    "best_of": (None, 1),
    "suffix": (None, ""),
}
"""Fields of the OpenAI API that this server does not serve → values that ask for nothing."""

_PROMPT_KINDS = "a string, a list of strings, a list of token ids or a list of such lists"


class StreamOptions(BaseModel):
    """`stream_options`: whether a stream ends with a chunk that holds its usage."""

    model_config = ConfigDict(extra="forbid", strict=True)

    include_usage: bool = False


class CompletionRequest(BaseModel):
    """One request, as OpenAI's client sends it.

    `top_k`, `min_p`, `min_tokens`, `repetition_penalty` and `return_token_ids` extend it.

    Ranges are checked by `SamplingParams`, types here. None stands for the default.
    """

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    model: str | None = None
    prompt: tuple[Prompt, ...]
    max_tokens: int = 16
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    min_tokens: int = 0
    logprobs: int | None = None
    n: int = 1
    echo: bool = False
    stream: bool = False
    stream_options: StreamOptions | None = None
    return_token_ids: bool = False
    user: str | None = None

    @classmethod
    def parse(cls, body: dict[str, Any], max_choices: int) -> Self:
        """Check a body.

        Args:
            body: the JSON object.
            max_choices: most answers (prompts times `n`) of one request.

        Raises:
            InvalidRequestError: naming the field, the value received and what it must be.
        """
        given = {name: value for name, value in body.items() if value is not None or name == "prompt"}
        for name, harmless in _NOT_OFFERED.items():
            if given.pop(name, None) not in harmless:
                raise InvalidRequestError(
                    f"`{name}` is {_short(body[name])}, but this server does not offer it.",
                    field=name,
                    remedy="Leave it out.",
                )
        try:
            request = cls.model_validate(given)
        except ValidationError as error:
            raise _explain(error) from error
        request._check(max_choices)
        return request

    def sampling_params(self, answer: int) -> SamplingParams:
        """Parameters of a prompt's answer number `answer`; each answer draws from its own seed.

        Raises:
            InvalidRequestError: a value is outside its range.
        """
        seed = secrets.randbits(63) if self.seed is None else self.seed
        return SamplingParams(
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            seed=seed + answer if seed + answer < 2**63 else seed - answer,
            stop=self.stop,
            frequency_penalty=self.frequency_penalty,
            presence_penalty=self.presence_penalty,
            repetition_penalty=self.repetition_penalty,
            logit_bias=self.logit_bias,
            min_tokens=self.min_tokens,
            logprobs=self.logprobs,
        )

    @property
    def prompt_bytes(self) -> int:
        """Size of all prompts: UTF-8 bytes of text, four per id."""
        return sum(text_bytes(item) if isinstance(item, str) else 4 * len(item) for item in self.prompt)

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return self.stream_options is not None and self.stream_options.include_usage

    @field_validator("prompt", mode="before")
    @classmethod
    def _read_prompt(cls, value: Any) -> tuple[Prompt, ...]:
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not value:
            raise ValueError(f"It must be {_PROMPT_KINDS}, not empty.")
        if all(isinstance(item, str) for item in value):
            return tuple(value)
        rows = value if all(isinstance(item, list) for item in value) else [value]
        return tuple(_token_ids(row) for row in rows)

    @field_validator("stop", mode="before")
    @classmethod
    def _read_stop(cls, value: Any) -> tuple[str, ...]:
        strings = [value] if isinstance(value, str) else value
        if not isinstance(strings, list) or not all(isinstance(item, str) for item in strings):
            raise ValueError("It must be a string or a list of strings.")
        return tuple(strings)

    @field_validator("logit_bias", mode="before")
    @classmethod
    def _read_bias(cls, value: Any) -> tuple[tuple[int, float], ...]:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        if not all(_is_id(token) and type(bias) in (int, float) for token, bias in pairs):
            raise ValueError('It must be an object that gives token ids a number each, as in {"50": -100}.')
        return tuple(sorted((int(token), float(bias)) for token, bias in pairs))

    def _check(self, max_choices: int) -> None:
        self.sampling_params(0)
        answers = self.n * len(self.prompt)
        if self.n < 1 or answers > max_choices:
            raise InvalidRequestError(
                f"`n` is {self.n} for {len(self.prompt)} prompts.",
                field="n",
                remedy=f"It must be at least 1, and prompts times `n` at most {max_choices}.",
            )
        if self.stream_options is not None and not self.stream:
            raise InvalidRequestError(
                "`stream_options` is set, but `stream` is not true.",
                field="stream_options",
                remedy="Leave it out or set `stream` to true.",
            )
        if self.echo and self.logprobs is not None:
            raise InvalidRequestError(
                f"`logprobs` is {self.logprobs} together with `echo`; the prompt's log-probabilities "
                "are not offered.",
                field="logprobs",
                remedy="Leave out one of the two.",
            )


def text_bytes(text: str) -> int:
    """Length of a text in UTF-8; a lone surrogate counts as it is sent to the model, replaced."""
    return len(text.encode("utf-8", "replace"))


def _is_id(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= 10


def _token_ids(row: list[Any]) -> tuple[int, ...]:
    if not row or not all(type(item) is int for item in row):
        raise ValueError(f"It must be {_PROMPT_KINDS}, not empty.")
    return tuple(row)


def _explain(error: ValidationError) -> InvalidRequestError:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return InvalidRequestError(f"`{field}` is missing.", field=field, remedy=f"Send {_PROMPT_KINDS}.")
    if first["type"] == "extra_forbidden":
        known = StreamOptions.model_fields if "." in field else CompletionRequest.model_fields
        close = difflib.get_close_matches(field.rpartition(".")[2], known, n=1)
        guess = f"Did you mean `{close[0]}`?" if close else f"There are {', '.join(known)}."
        return InvalidRequestError(
            f"`{field}` is not a parameter of a completion.", field=field, remedy=guess
        )
    reason = first["msg"].removeprefix("Value error, ").replace("Input should be", "It must be")
    remedy = reason if reason.endswith(".") else f"{reason}."
    return InvalidRequestError(f"`{field}` is {_short(first['input'])}.", field=field, remedy=remedy)


def _short(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
