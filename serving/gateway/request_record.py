"""RequestRecord: what is known of one HTTP request when it ends."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Self

from starlette.datastructures import Headers
from starlette.types import Scope

_KEY = "tokenmill.request"
_SANE_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)


@dataclass(slots=True)
class RequestRecord:
    """Facts for the response header, the log and the metrics; never any text of prompt or answer.

    Args:
        request_id: the client's X-Request-Id if it sent a sane one, else a new one.
        status: HTTP status sent, None while there is none.
        error: code of the error the request ended with.
        prompt_tokens: of all its prompts.
        completion_tokens: of all its answers so far.
        started: monotonic seconds.
    """

    request_id: str
    status: int | None = None
    error: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def begin(cls, scope: Scope) -> Self:
        """Make the record of a request and hang it on its scope."""
        given = Headers(scope=scope).get("x-request-id", "")
        record = cls(given if _SANE_ID.fullmatch(given) else f"req-{uuid.uuid4().hex}")
        scope[_KEY] = record
        return record

    @classmethod
    def of(cls, scope: Scope) -> RequestRecord:
        """The record of a request."""
        record: RequestRecord = scope[_KEY]
        return record

    @property
    def seconds(self) -> float:
        """Time since the request came in."""
        return time.monotonic() - self.started

    def facts(self) -> dict[str, Any]:
        """What the log says."""
        return {
            "request_id": self.request_id,
            "status": self.status,
            "error": self.error,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "seconds": round(self.seconds, 4),
        }
