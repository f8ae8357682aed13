"""Client: the synchronous client."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
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


class Client:
    """Asks a Tokenmill server; one client may serve many threads.

    Args:
        url: of the server, e.g. "http://127.0.0.1:8000".
        timeouts: the four limits of every call.
        max_retries: how often a call is repeated that failed before its first token: no
            connection, a broken one, 429 (after Retry-After) or 5xx.
        headers: sent with every request.

    Raises:
        ValueError: `url` is not one of an HTTP server.

    Example:
        >>> with Client("http://127.0.0.1:8000") as client:
        ...     for chunk in client.stream("def fibonacci(", max_tokens=32):
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
        self._http = httpx.Client(
            base_url=checked_url(url), headers=headers, verify=not url.startswith("http://")
        )

    def complete(self, prompt: str | Sequence[int], **options: Unpack[CompletionOptions]) -> Completion:
        """A whole answer.

        Args:
            prompt: text, or token ids.
            options: see `CompletionOptions`.

        Raises:
            ClientError: it failed; what came before is lost.
        """
        return Completion.join(self.stream(prompt, **options))

    def stream(
        self, prompt: str | Sequence[int], **options: Unpack[CompletionOptions]
    ) -> Generator[CompletionChunk, None, None]:
        """An answer piece by piece; the request is sent when the first piece is asked for.

        Closing the generator (or leaving a `for` loop and dropping it) ends the request at the
        server too.

        Args:
            prompt: text, or token ids.
            options: see `CompletionOptions`.

        Raises:
            ClientError: it failed; after the first piece it is never repeated.
        """
        content = request_content(prompt, options)
        deadline = Deadline(self._timeouts.total)
        retries = Retries(self._max_retries, deadline)
        while True:
            started = False
            try:
                for chunk in self._attempt(content, deadline):
                    started = True
                    yield chunk
                return
            except ClientError as error:
                if started:
                    raise
                time.sleep(retries.pause(error))

    def models(self) -> list[ModelInfo]:
        """The models that the server serves."""
        response = self._get("/v1/models")
        if response.status_code >= 400:
            raise response_error(response)
        try:
            return [ModelInfo.from_json(entry) for entry in parsed(response)["data"]]
        except (KeyError, TypeError) as error:
            raise ProtocolError(f"{response.url} answered in an unknown form.") from error

    def health(self) -> Health:
        """How the server is."""
        alive = self._get("/healthz").status_code == 200
        ready = self._get("/readyz")
        return Health(alive, ready.status_code == 200, str(parsed(ready).get("state", "unknown")))

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _attempt(self, content: bytes, deadline: Deadline) -> Generator[CompletionChunk, None, None]:
        exchange = Exchange(self._timeouts, deadline)
        timeout = exchange.httpx_timeout()
        request = self._http.stream(
            "POST", "/v1/completions", content=content, headers=JSON_HEADERS, timeout=timeout
        )
        with exchange.errors(), request as response:
            if response.status_code >= 400:
                response.read()
                raise response_error(response)
            exchange.begin_stream(response)
            for piece in response.iter_bytes():
                yield from exchange.chunks(piece)
        exchange.check_complete()

    def _get(self, path: str) -> httpx.Response:
        deadline = Deadline(self._timeouts.total)
        retries = Retries(self._max_retries, deadline)
        while True:
            exchange = Exchange(self._timeouts, deadline)
            try:
                with exchange.errors():
                    return self._http.get(path, timeout=exchange.httpx_timeout())
            except ClientError as error:
                time.sleep(retries.pause(error))
