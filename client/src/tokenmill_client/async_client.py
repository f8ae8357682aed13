"""AsyncClient: the client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import httpx

from tokenmill_client.completion import Completion, CompletionChunk, Health, ModelInfo
from tokenmill_client.completion_options import CompletionOptions, request_content
from tokenmill_client.deadline import Deadline
from tokenmill_client.errors import ClientError, ProtocolError
from tokenmill_client.exchange import JSON_HEADERS, Exchange, checked_url, parsed, response_error
from tokenmill_client.retries import Retries
from tokenmill_client.timeouts import Timeouts

if TYPE_CHECKING:
    from typing import Self, Unpack


class AsyncClient:
    """Asks a Tokenmill server from coroutines; arguments as for `Client`.

    Example:
        >>> async with AsyncClient("http://127.0.0.1:8000") as client:
        ...     async for chunk in client.stream("def fibonacci(", max_tokens=32):
        ...         print(chunk.text, end="")
    """

    def __init__(
        self,
        url: str,
        *,
        timeouts: Timeouts | None = None,
        max_retries: int = 2,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._max_retries = max_retries
        # Without TLS there is nothing to verify, and loading the certificates takes 0.1 s.
        self._http = httpx.AsyncClient(
            base_url=checked_url(url), headers=headers, verify=not url.startswith("http://")
        )

    async def complete(self, prompt: str | Sequence[int], **options: Unpack[CompletionOptions]) -> Completion:
        """A whole answer; see `Client.complete`."""
        return Completion.join([chunk async for chunk in self.stream(prompt, **options)])

    async def stream(
        self, prompt: str | Sequence[int], **options: Unpack[CompletionOptions]
    ) -> AsyncGenerator[CompletionChunk, None]:
        """An answer piece by piece; see `Client.stream`.

        Close the generator (`contextlib.aclosing`) if you leave the loop early: only then the
        request ends at once at the server too.
        """
        content = request_content(prompt, options)
        deadline = Deadline(self._timeouts.total)
        retries = Retries(self._max_retries, deadline)
        while True:
            started = False
            try:
                async with aclosing(self._attempt(content, deadline)) as chunks:
                    async for chunk in chunks:
                        started = True
                        yield chunk
                return
            except ClientError as error:
                if started:
                    raise
                await asyncio.sleep(retries.pause(error))

    async def models(self) -> list[ModelInfo]:
        """The models that the server serves."""
        response = await self._get("/v1/models")
        if response.status_code >= 400:
            raise response_error(response)
        try:
            return [ModelInfo.from_json(entry) for entry in parsed(response)["data"]]
        except (KeyError, TypeError) as error:
            raise ProtocolError(f"{response.url} answered in an unknown form.") from error

    async def health(self) -> Health:
        """How the server is."""
        alive = (await self._get("/healthz")).status_code == 200
        ready = await self._get("/readyz")
        return Health(alive, ready.status_code == 200, str(parsed(ready).get("state", "unknown")))

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _attempt(self, content: bytes, deadline: Deadline) -> AsyncGenerator[CompletionChunk, None]:
        exchange = Exchange(self._timeouts, deadline)
        timeout = exchange.httpx_timeout()
        request = self._http.stream(
            "POST", "/v1/completions", content=content, headers=JSON_HEADERS, timeout=timeout
        )
        with exchange.errors():
            async with request as response:
                if response.status_code >= 400:
                    await response.aread()
                    raise response_error(response)
                exchange.begin_stream(response)
                async for piece in response.aiter_bytes():
                    for chunk in exchange.chunks(piece):
                        yield chunk
        exchange.check_complete()

    async def _get(self, path: str) -> httpx.Response:
        deadline = Deadline(self._timeouts.total)
        retries = Retries(self._max_retries, deadline)
        while True:
            exchange = Exchange(self._timeouts, deadline)
            try:
                with exchange.errors():
                    return await self._http.get(path, timeout=exchange.httpx_timeout())
            except ClientError as error:
                await asyncio.sleep(retries.pause(error))
