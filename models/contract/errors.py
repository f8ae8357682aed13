"""The one exception tree of Tokenmill and its one mapping to outside codes.

    TokenmillError
    ├── InvalidInputError            what the caller sent or configured is wrong
    │   ├── InvalidRequestError      a request to the server
    │   │   └── ContextLengthError   prompt and answer do not fit into the context
    │   ├── ModelNotFoundError       no such model, version or label
    │   └── ConfigError              a configuration file or a command's argument
    ├── DataError                    a corpus or text file
    ├── CheckpointError              a checkpoint or tokenizer that cannot be read exactly
    ├── PackageError                 a model package that does not match what loads it
    ├── NotBlessedError              a run that ended without a blessing
    └── ServiceError                 the server's side of a request
        ├── OverloadedError          too much is waiting; try again later
        ├── UnavailableError         starting, draining or unreachable
        ├── DeadlineError            the deadline passed
        ├── AbortedError             the caller went away or cancelled
        └── EngineError              a step of the model failed

A message names the thing, the value received and the remedy, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorCodes:
    """What one kind of error is called outside.

    Args:
        http: HTTP status.
        grpc: name of the gRPC status.
        websocket: WebSocket close code.
        exit: exit code of the command line.
        type: `error.type` of an OpenAI-compatible error body.
    """

    http: int
    grpc: str
    websocket: int
    exit: int
    type: str


class TokenmillError(Exception):
    """Base of all errors that Tokenmill raises on purpose.

    Args:
        message: what is wrong, naming the thing and the value received.
        field: name of the field or file at fault, if there is one.
        remedy: what the reader can do about it; appended to the message.
    """

    def __init__(self, message: str, *, field: str | None = None, remedy: str | None = None) -> None:
        super().__init__(f"{message} {remedy}" if remedy else message)
        self.message = message
        self.field = field
        self.remedy = remedy

    @property
    def codes(self) -> ErrorCodes:
        """The codes of this error's class or of its nearest base that has some."""
        return next(CODES[cls] for cls in type(self).__mro__ if cls in CODES)

    @property
    def code(self) -> str:
        """Stable snake_case name for machines, e.g. `context_length` for ContextLengthError."""
        words = type(self).__name__.removesuffix("Error")
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in words).lstrip("_")


class InvalidInputError(TokenmillError):
    """What the caller sent or configured is wrong."""


class InvalidRequestError(InvalidInputError):
    """A request to the server is wrong; `field` names the parameter."""


class ContextLengthError(InvalidRequestError):
    """Prompt and requested answer do not fit into the model's context."""


class ModelNotFoundError(InvalidInputError):
    """No such model, version or label."""


class ConfigError(InvalidInputError):
    """A configuration file or a command's argument is wrong."""


class DataError(TokenmillError):
    """A corpus or text file is missing, empty or unreadable."""


class CheckpointError(TokenmillError):
    """A checkpoint or tokenizer that cannot be reproduced exactly."""


class PackageError(TokenmillError):
    """A model package that does not match what loads it."""


class NotBlessedError(TokenmillError):
    """A run ended without a blessing, or a model became NaN; nothing was pushed."""


class ServiceError(TokenmillError):
    """The server could not serve a correct request."""


class OverloadedError(ServiceError):
    """Too many requests or tokens are waiting.

    Args:
        retry_after: seconds after which a retry makes sense.
    """

    def __init__(self, message: str, *, retry_after: float = 1.0, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after = retry_after


class UnavailableError(ServiceError):
    """The server is starting, draining or cannot be reached."""


class DeadlineError(ServiceError):
    """The request's deadline passed."""


class AbortedError(ServiceError):
    """The caller cancelled or went away."""


class EngineError(ServiceError):
    """A step of the model failed."""


CODES: dict[type[TokenmillError], ErrorCodes] = {
    TokenmillError: ErrorCodes(500, "INTERNAL", 1011, 1, "server_error"),
    InvalidInputError: ErrorCodes(400, "INVALID_ARGUMENT", 1008, 2, "invalid_request_error"),
    ModelNotFoundError: ErrorCodes(404, "NOT_FOUND", 1008, 2, "invalid_request_error"),
    DataError: ErrorCodes(400, "INVALID_ARGUMENT", 1008, 3, "invalid_request_error"),
    CheckpointError: ErrorCodes(500, "FAILED_PRECONDITION", 1011, 4, "server_error"),
    PackageError: ErrorCodes(500, "FAILED_PRECONDITION", 1011, 4, "server_error"),
    NotBlessedError: ErrorCodes(500, "FAILED_PRECONDITION", 1011, 5, "server_error"),
    ServiceError: ErrorCodes(500, "INTERNAL", 1011, 6, "server_error"),
    OverloadedError: ErrorCodes(429, "RESOURCE_EXHAUSTED", 1013, 6, "rate_limit_error"),
    UnavailableError: ErrorCodes(503, "UNAVAILABLE", 1013, 6, "server_error"),
    DeadlineError: ErrorCodes(504, "DEADLINE_EXCEEDED", 1011, 6, "server_error"),
    AbortedError: ErrorCodes(499, "CANCELLED", 1000, 6, "server_error"),
}
