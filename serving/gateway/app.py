"""The gateway as an ASGI application."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from serving.gateway.completions_endpoint import CompletionsEndpoint
from serving.gateway.error_body import http_error
from serving.gateway.gateway import Gateway
from serving.gateway.information_endpoints import information_routes
from serving.gateway.request_middleware import RequestMiddleware


def create_app(gateway: Gateway) -> Starlette:
    """The application over a gateway's state; it answers 503 for tokens until the gateway is open."""
    routes = [
        Route("/v1/completions", CompletionsEndpoint(gateway), methods=["POST"]),
        *information_routes(gateway),
    ]
    patterns: dict[object, str] = {route.endpoint: route.path for route in routes}
    return Starlette(
        routes=routes,
        middleware=[Middleware(RequestMiddleware, metrics=gateway.metrics, routes=patterns)],
        exception_handlers={HTTPException: http_error},
    )
