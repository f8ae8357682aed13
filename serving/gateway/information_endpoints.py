"""The endpoints that tell about the server: models, health, readiness, metrics."""

from __future__ import annotations

import dataclasses

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from serving.gateway.gateway import Gateway


def information_routes(gateway: Gateway) -> list[Route]:
    """Routes of `/v1/models`, `/v1/models/{id}`, `/healthz`, `/readyz` and `/metrics`."""

    async def list_models(request: Request) -> Response:
        return _json({"object": "list", "data": [model.card() for model in gateway.models]})

    async def one_model(request: Request) -> Response:
        return _json(gateway.model(request.path_params["name"]).card())

    async def healthz(request: Request) -> Response:
        # That this runs shows that the event loop does.
        fault = gateway.fault
        return _json({"status": fault or "ok"}, 503 if fault else 200)

    async def readyz(request: Request) -> Response:
        ready = gateway.ready
        body = {
            "ready": ready,
            "state": gateway.fault or gateway.state.value,
            "models": [model.name for model in gateway.models],
            "in_flight": gateway.admission.in_flight,
            "xla_buckets": dataclasses.asdict(gateway.progress),
        }
        return _json(body, 200 if ready else 503)

    async def metrics(request: Request) -> Response:
        text, content_type = gateway.registry.render(request.headers.get("accept"))
        return Response(text, headers={"Content-Type": content_type})

    return [
        Route("/v1/models", list_models),
        Route("/v1/models/{name:path}", one_model),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
    ]


def _json(value: object, status: int = 200) -> Response:
    return Response(
        orjson.dumps(value), status, media_type="application/json", headers={"Cache-Control": "no-store"}
    )
