"""The client's exceptions.

ClientError
├── UnsendableRequestError       the request cannot be written as JSON; nothing was sent
├── ConnectionFailedError        no connection to the server
├── InterruptedStreamError       the connection ended in the middle of an answer
├── ProtocolError                the server's answer is not what this client understands
├── TimeLimitError               one of the four limits in `Timeouts` passed
│   ├── ConnectTimeoutError
│   ├── FirstByteTimeoutError
│   ├── IdleTimeoutError
│   └── TotalTimeoutError
└── ResponseError                the server answered with an error; its message is the text
    ├── RequestRefusedError      4xx: the request is at fault
    │   ├── NotFoundError        404
    │   └── RateLimitedError     429, with `retry_after`
    └── ServerFailedError        5xx, or an error event within a stream
"""

from __future__ import annotations


class ClientError(Exception):
    """Base of all exceptions of this package."""

    retryable = False
    """Whether the same request may succeed a little later."""

    retry_after: float | None = None
    """Seconds after which the server advises to try again."""


class UnsendableRequestError(ClientError):
    """The request cannot be written down, so that nothing was sent.

    Args:
        message: what is wrong.
        param: the request's field at fault, None if it is no field.
    """

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class ConnectionFailedError(ClientError):
    """No connection to the server: nothing listens there, or its name is unknown."""

    retryable = True


class InterruptedStreamError(ClientError):
    """The connection ended in the middle of an answer."""

    retryable = True


class ProtocolError(ClientError):
    """The server's answer is not what this client understands."""


class TimeLimitError(ClientError):
    """One of the limits in `Timeouts` passed."""


class ConnectTimeoutError(TimeLimitError):
    """No connection within `Timeouts.connect`."""

    retryable = True


class FirstByteTimeoutError(TimeLimitError):
    """No answer within `Timeouts.first_byte` of the request."""


class IdleTimeoutError(TimeLimitError):
    """Nothing came for `Timeouts.idle`, not even a keepalive."""


class TotalTimeoutError(TimeLimitError):
    """The answer was not complete within `Timeouts.total`."""


class ResponseError(ClientError):
    """The server answered with an error.

    Args:
        message: the server's own, naming what is wrong and what to do.
        status: HTTP status, None for an error event within a stream.
        type: e.g. "invalid_request_error".
        code: e.g. "context_length".
        param: the request's field at fault.
        request_id: under which the server logged the request.
        retry_after: seconds, if the server advised.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str | None = None,
        code: str | None = None,
        param: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.code = code
        self.param = param
        self.request_id = request_id
        self.retry_after = retry_after


class RequestRefusedError(ResponseError):
    """The request is at fault (4xx); `param` names the field."""


class NotFoundError(RequestRefusedError):
    """No such model or path (404)."""


class RateLimitedError(RequestRefusedError):
    """Too much is waiting at the server (429)."""

    retryable = True


class ServerFailedError(ResponseError):
    """The server could not answer a correct request (5xx, or an error event within a stream)."""

    retryable = True
