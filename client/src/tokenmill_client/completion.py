"""What the server's answers look like: completions, their chunks, models, health."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Tokens that were read and written."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@dataclass(frozen=True)
class Logprobs:
    """Natural log-probabilities, one entry per token.

    Args:
        tokens: text of each token; `bytes:\\xe2\\x80` where its bytes are no text by themselves.
        token_logprobs: of the tokens chosen.
        top_logprobs: of the best alternatives and the token chosen, by text.
        text_offset: characters of the answer's text before the token.
    """

    tokens: tuple[str, ...] = ()
    token_logprobs: tuple[float, ...] = ()
    top_logprobs: tuple[dict[str, float], ...] = ()
    text_offset: tuple[int, ...] = ()

    def __add__(self, other: Logprobs) -> Logprobs:
        return Logprobs(
            self.tokens + other.tokens,
            self.token_logprobs + other.token_logprobs,
            self.top_logprobs + other.top_logprobs,
            self.text_offset + other.text_offset,
        )


@dataclass(frozen=True)
class CompletionChunk:
    """A piece of an answer.

    Args:
        id: of the completion.
        model: that answers.
        text: new text.
        token_ids: new ids, if asked for.
        logprobs: of the new tokens, if asked for.
        finish_reason: "stop" or "length" in the last piece with text.
        usage: only in the very last piece, whose text is empty.
    """

    id: str
    model: str
    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: Logprobs | None = None
    finish_reason: str | None = None
    usage: Usage | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CompletionChunk:
        """Read one event; KeyError, TypeError or ValueError if it has another form."""
        choices = value["choices"]
        choice: dict[str, Any] = choices[0] if choices else {"text": ""}
        logprobs, usage = choice.get("logprobs"), value.get("usage")
        if not isinstance(choice["text"], str):
            raise TypeError("`text` is no string")
        return cls(
            id=value["id"],
            model=value["model"],
            text=choice["text"],
            token_ids=tuple(choice.get("token_ids") or ()),
            logprobs=Logprobs(**{name: tuple(part) for name, part in logprobs.items()}) if logprobs else None,
            finish_reason=choice.get("finish_reason"),
            usage=usage and Usage(*(usage[name] for name in Usage.__annotations__)),
        )


@dataclass(frozen=True)
class Completion:
    """A whole answer; the fields are those of `CompletionChunk`, put together."""

    id: str
    model: str
    text: str
    token_ids: tuple[int, ...]
    logprobs: Logprobs | None
    finish_reason: str
    usage: Usage | None

    @classmethod
    def join(cls, chunks: Iterable[CompletionChunk]) -> Completion:
        """Put an answer's pieces together; there is at least one."""
        parts = list(chunks)
        logprobs = [part.logprobs for part in parts if part.logprobs is not None]
        return cls(
            id=parts[0].id,
            model=parts[0].model,
            text="".join(part.text for part in parts),
            token_ids=tuple(i for part in parts for i in part.token_ids),
            logprobs=sum(logprobs, Logprobs()) if logprobs else None,
            finish_reason=next((part.finish_reason for part in parts if part.finish_reason), ""),
            usage=parts[-1].usage,
        )


@dataclass(frozen=True)
class ModelInfo:
    """A model that the server serves.

    Args:
        id: its name.
        created: Unix seconds.
        max_length: most tokens of prompt and answer together, if the server tells.
    """

    id: str
    created: int
    max_length: int | None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ModelInfo:
        """Read one entry of `/v1/models`; KeyError or TypeError if it has another form."""
        return cls(value["id"], value["created"], value.get("max_model_len"))


@dataclass(frozen=True)
class Health:
    """How the server is.

    Args:
        alive: the process answers and its engine is not stalled.
        ready: it takes requests for tokens and its first slow calls are over.
        state: "starting", "warming", "ready" or "draining"; "stalled" or "crashed" if not alive.
    """

    alive: bool
    ready: bool
    state: str
