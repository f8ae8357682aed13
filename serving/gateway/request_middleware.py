"""RequestMiddleware: id, errors, metrics and one log line for every HTTP request."""

from __future__ import annotations

import logging

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from models.contract.errors import CODES, AbortedError, TokenmillError
from serving.gateway.error_body import error_response, internal_error_response
from serving.gateway.http_metrics import HttpMetrics
from serving.gateway.request_record import RequestRecord

logger = logging.getLogger(__name__)


class RequestMiddleware:
    """Pure ASGI, so that a client's disconnect reaches the endpoint at once.

    Args:
        app: the application inside.
        metrics: counts requests.
        routes: endpoint → its path pattern, the label of its metrics.
    """

    def __init__(self, app: ASGIApp, metrics: HttpMetrics, routes: dict[object, str]) -> None:
        self._app = app
        self._metrics = metrics
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; answer for the errors it raises."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        record = RequestRecord.begin(scope)
        self._metrics.opened()

        async def marked_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = record.request_id
            await send(message)

        try:
            await self._guarded(scope, receive, marked_send, record)
        finally:
            self._end(scope, record)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        try:
            await self._app(scope, receive, send)
        except AbortedError as error:
            record.status = error.codes.http
            record.error = error.code
        except TokenmillError as error:
            record.error = error.code
            await error_response(error)(scope, receive, send)
        except Exception:
            record.error = "internal"
            logger.exception("request failed", extra={"request_id": record.request_id})
            if record.status is not None:
                raise
            await internal_error_response(record.request_id)(scope, receive, send)

    def _end(self, scope: Scope, record: RequestRecord) -> None:
        # Without a status the server was stopped in the middle of it.
        record.status = record.status or CODES[AbortedError].http
        route = self._routes.get(scope.get("endpoint"), "other")
        self._metrics.closed(scope["method"], route, record.status, record.seconds)
        # Probes and scrapers come every few seconds: they are told of only if they fail.
        level = logging.INFO if route.startswith("/v1/") or record.status >= 400 else logging.DEBUG
        logger.log(level, "request", extra={"method": scope["method"], "route": route, **record.facts()})
