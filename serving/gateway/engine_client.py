"""EngineClient: the part of `AsyncLLMEngine` that the gateway calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from models.contract.sampling_params import SamplingParams
from serving.engine.request_output import RequestOutput
from serving.engine_server.engine_health import EngineHealth


class EngineClient(Protocol):
    """Turns token ids into outputs, and text into ids."""

    def generate(
        self, request_id: str, prompt_ids: Sequence[int], params: SamplingParams, *, stream: bool = True
    ) -> AsyncGenerator[RequestOutput, None]:
        """Outputs of one request; closing the generator aborts it and frees its blocks.

        Args:
            request_id: unique among unfinished requests.
            prompt_ids: the prompt.
            params: how to sample and when to end.
            stream: whether someone reads the tokens as they come.

        Raises:
            InvalidRequestError: the request cannot be served as it is.
            OverloadedError: too much is waiting.
            EngineError: a step failed.
        """

    async def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""

    def health(self) -> EngineHealth:
        """Whether requests are taken and steps go on."""
