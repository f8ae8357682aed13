"""PlannedChoice: one answer of a request, ready for the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.contract.errors import ContextLengthError
from models.contract.sampling_params import SamplingParams
from serving.engine.request_validator import RequestValidator
from serving.gateway.completion_request import CompletionRequest, text_bytes
from serving.gateway.gateway import Backend
from serving.gateway.served_model import ServedModel


@dataclass(frozen=True, slots=True)
class PlannedChoice:
    """One answer.

    Args:
        index: its place in the response: prompt number times `n` plus answer number.
        prompt_ids: the prompt's ids.
        echo: text that precedes the answer, the prompt's if the request asks to echo it.
        params: how to generate it.
        stream: whether its tokens are read as they come.
    """

    index: int
    prompt_ids: tuple[int, ...]
    echo: str
    params: SamplingParams
    stream: bool = True


async def plan_choices(request: CompletionRequest, backend: Backend) -> list[PlannedChoice]:
    """All answers of a request in the order of their index.

    Raises:
        InvalidRequestError: a prompt is empty or holds ids that the vocabulary lacks.
        ContextLengthError: a prompt and `max_tokens` do not fit into the context.
    """
    _check_size(request, backend.model)
    rows = await _prompt_ids(request, backend)
    validator = RequestValidator(backend.model.config)
    choices: list[PlannedChoice] = []
    for prompt, ids in zip(request.prompt, rows, strict=True):
        cap = "max_tokens" not in request.model_fields_set
        max_tokens = validator.max_tokens(ids, request.sampling_params(0), cap=cap)
        text = prompt if isinstance(prompt, str) else backend.model.text(ids)
        for answer in range(request.n):
            params = replace(request.sampling_params(answer), max_tokens=max_tokens)
            echo = text if request.echo else ""
            choices.append(PlannedChoice(len(choices), ids, echo, params, request.stream))
    return choices


def _check_size(request: CompletionRequest, model: ServedModel) -> None:
    """Refuse what cannot fit before it costs anything: tokenising takes turns with the model's steps."""
    longest = max((text_bytes(prompt) for prompt in request.prompt if isinstance(prompt, str)), default=0)
    if longest > model.max_prompt_bytes:
        raise ContextLengthError(
            f"`prompt` has {longest:,} bytes; the context of {model.config.max_length} tokens holds at most "
            f"{model.max_prompt_bytes:,}, far less for ordinary text.",
            field="prompt",
            remedy="Shorten the prompt.",
        )


async def _prompt_ids(request: CompletionRequest, backend: Backend) -> list[tuple[int, ...]]:
    texts = [prompt for prompt in request.prompt if isinstance(prompt, str)]
    if not texts:
        return [prompt for prompt in request.prompt if not isinstance(prompt, str)]
    return [tuple(row) for row in await backend.engine.tokenize(texts)]
