"""What the sync and the async client do alike: one HTTP exchange, read without doing I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tokenmill_client.completion import CompletionChunk
from tokenmill_client.deadline import Deadline
from tokenmill_client.errors import (
    ClientError,
    ConnectionFailedError,
    ConnectTimeoutError,
    FirstByteTimeoutError,
    IdleTimeoutError,
    InterruptedStreamError,
    NotFoundError,
    ProtocolError,
    RateLimitedError,
    RequestRefusedError,
    ResponseError,
    ServerFailedError,
    TotalTimeoutError,
    UnsendableRequestError,
)
from tokenmill_client.event_decoder import EventDecoder
from tokenmill_client.timeouts import Timeouts

JSON_HEADERS = {"Content-Type": "application/json"}
_EVENT_STREAM = "text/event-stream"


class Exchange:
    """One attempt: limits, errors and the events of the response.

    Args:
        timeouts: the limits.
        deadline: end of the whole call.
    """

    def __init__(self, timeouts: Timeouts, deadline: Deadline) -> None:
        self._timeouts = timeouts
        self._deadline = deadline
        self._decoder = EventDecoder()
        self._streaming = False
        self._received = False
        self.done = False
        """Whether the stream's terminator has come."""

    def httpx_timeout(self) -> httpx.Timeout:
        """Limits until the response begins."""
        first = self._deadline.cap(self._timeouts.first_byte)
        connect = self._deadline.cap(self._timeouts.connect)
        return httpx.Timeout(connect=connect, read=first, write=first, pool=connect)

    def begin_stream(self, response: httpx.Response) -> None:
        """The response has begun: from now on `idle` limits each read instead of `first_byte`.

        Raises:
            ProtocolError: it is not the event stream that was asked for.
        """
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200 or kind != _EVENT_STREAM:
            raise ProtocolError(
                f"{response.url} answered HTTP {response.status_code} with {kind or 'nothing'} instead of "
                f"{_EVENT_STREAM}: it is not a server this client understands."
            )
        self._streaming = True
        # httpx has one read timeout per request; its transport looks it up again for the body.
        response.request.extensions["timeout"]["read"] = self._deadline.cap(self._timeouts.idle)

    def chunks(self, piece: bytes) -> Iterator[CompletionChunk]:
        """The chunks that a piece of the response's body completes, up to an error event.

        Raises:
            ServerFailedError: an error event.
            ProtocolError: an event of another form.
            TotalTimeoutError: the call's time is over.
        """
        self._check_deadline()
        for data in self._decoder.feed(piece):
            if data == "[DONE]":
                self.done = True
            else:
                yield _chunk(data)
                self._received = True

    def check_complete(self) -> None:
        """The body has ended.

        Raises:
            InterruptedStreamError: without the terminator.
            ProtocolError: with nothing before it.
        """
        if not self.done:
            raise InterruptedStreamError("The server closed the stream before its end.")
        if not self._received:
            raise ProtocolError("The server ended the stream without an answer.")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn httpx's exceptions into this package's."""
        try:
            yield
        except httpx.ConnectTimeout as error:
            raise ConnectTimeoutError(f"No connection within {self._timeouts.connect} s.") from error
        except httpx.TimeoutException as error:
            raise self._time_limit() from error
        except httpx.ConnectError as error:
            raise ConnectionFailedError(f"No connection to {error.request.url}: {error}.") from error
        except httpx.LocalProtocolError as error:
            raise UnsendableRequestError(f"The request cannot be sent: {error}.") from error
        except httpx.TransportError as error:
            raise InterruptedStreamError(f"The connection to the server broke: {error}.") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError) as error:
            raise ProtocolError(f"The server's answer cannot be read: {error}.") from error

    def _check_deadline(self) -> None:
        if self._deadline.passed:
            raise TotalTimeoutError(f"The answer was not complete within {self._timeouts.total} s.")

    def _time_limit(self) -> ClientError:
        if self._deadline.passed:
            return TotalTimeoutError(f"The answer was not complete within {self._timeouts.total} s.")
        if self._streaming:
            return IdleTimeoutError(f"The server sent nothing for {self._timeouts.idle} s.")
        return FirstByteTimeoutError(f"No answer within {self._timeouts.first_byte} s.")


def checked_url(url: str) -> str:
    """`url` if it is one of a server.

    Raises:
        ValueError: it is not.
    """
    try:
        parts = httpx.URL(url)
        # What the socket would refuse only later, with an error of its own.
        parts.raw_host.decode("ascii").encode("idna")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValueError(f"{url!r} is no URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.host or (parts.port or 0) > 65535:
        raise ValueError(f"{url!r} is no URL of an HTTP server")
    return url


def response_error(response: httpx.Response) -> ResponseError:
    """The exception for a response of status 4xx or 5xx whose body has been read."""
    try:
        error = response.json()["error"]
        message = error["message"]
    except (ValueError, KeyError, TypeError):
        error, message = {}, f"HTTP status {response.status_code}: {response.text[:200]}"
    kind: type[ResponseError] = {404: NotFoundError, 429: RateLimitedError}.get(
        response.status_code, RequestRefusedError if response.status_code < 500 else ServerFailedError
    )
    return kind(
        message,
        status=response.status_code,
        type=error.get("type"),
        code=error.get("code"),
        param=error.get("param"),
        request_id=response.headers.get("x-request-id"),
        retry_after=_seconds(response.headers.get("retry-after")),
    )


def parsed(response: httpx.Response) -> dict[str, Any]:
    """The JSON object of a response.

    Raises:
        ProtocolError: there is none.
    """
    try:
        value = response.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ProtocolError(f"{response.url} answered without a JSON object: {response.text[:200]!r}.")
    return value


def _chunk(data: str) -> CompletionChunk:
    try:
        value = json.loads(data)
        error = value.get("error")
        if error is None:
            return CompletionChunk.from_json(value)
        fault = ServerFailedError(
            error["message"], type=error.get("type"), code=error.get("code"), param=error.get("param")
        )
    except (ValueError, KeyError, TypeError, AttributeError) as reason:
        raise ProtocolError(f"The server sent an event of unknown form: {data[:200]!r}.") from reason
    raise fault


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
