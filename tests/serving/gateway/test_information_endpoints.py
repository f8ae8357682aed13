from __future__ import annotations

import asyncio

import httpx
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving.gateway.gateway_config import GatewayConfig
from serving.runners.warmup_progress import WarmupProgress
from tests.serving.gateway.fake_engine import MODEL, FakeEngine, eventually, running_gateway
from tests.serving.gateway.wire import connect, read_until


def test_models_are_listed_as_openais_client_expects():
    with running_gateway() as gateway:
        sdk = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0)
        (model,) = sdk.models.list()
        assert (model.id, model.object, model.owned_by) == ("mill", "model", "tokenmill")
        assert model.max_model_len == 64
        assert sdk.models.retrieve("mill") == model
        with pytest.raises(openai.NotFoundError, match="Served: `mill`"):
            sdk.models.retrieve("other/name")


def test_before_the_engine_is_there_the_server_is_alive_and_not_ready():
    with running_gateway(opened=False) as gateway:
        assert httpx.get(f"{gateway.url}/healthz").json() == {"status": "ok"}
        ready = httpx.get(f"{gateway.url}/readyz")
        assert ready.status_code == 503
        assert ready.json() == {
            "ready": False,
            "state": "starting",
            "models": [],
            "in_flight": 0,
            "xla_buckets": {"warm": 0, "total": 0, "error": None},
        }
        refused = httpx.post(f"{gateway.url}/v1/completions", json={"prompt": "x"})
        assert refused.status_code == 503
        assert "starting" in refused.json()["error"]["message"]


def test_while_it_warms_up_tokens_come_but_it_is_not_ready():
    with running_gateway(opened=False) as gateway:
        gateway.gateway.open(gateway.engine, MODEL)
        ready = httpx.get(f"{gateway.url}/readyz")
        assert (ready.status_code, ready.json()["state"]) == (503, "warming")
        assert httpx.post(f"{gateway.url}/v1/completions", json={"prompt": "x"}).status_code == 200
        gateway.gateway.warmed()
        assert httpx.get(f"{gateway.url}/readyz").status_code == 200


def test_readiness_tells_how_many_buckets_are_compiled_and_does_not_wait_for_them():
    with running_gateway(opened=False) as gateway:
        progress = WarmupProgress(3, 12)
        gateway.gateway.open(gateway.engine, MODEL, lambda: progress)
        gateway.gateway.warmed()
        ready = httpx.get(f"{gateway.url}/readyz")
        assert (ready.status_code, ready.json()["xla_buckets"]["warm"]) == (200, 3)
        progress = WarmupProgress(3, 12, "no compiler.")
        ready = httpx.get(f"{gateway.url}/readyz")
        assert ready.status_code == 200
        assert ready.json()["xla_buckets"] == {"warm": 3, "total": 12, "error": "no compiler."}


def test_while_draining_answers_end_and_new_requests_are_refused():
    engine = FakeEngine(script=[("x", 65)] * 40, interval=0.02)
    with running_gateway(engine) as gateway, connect(gateway, stream=True, max_tokens=40) as stream:
        read_until(stream, b"data: ")
        drained = asyncio.run_coroutine_threadsafe(gateway.gateway.drain(), gateway.loop)
        eventually(lambda: httpx.get(f"{gateway.url}/readyz").json()["state"] == "draining")
        assert httpx.get(f"{gateway.url}/healthz").status_code == 200
        refused = httpx.post(f"{gateway.url}/v1/completions", json={"prompt": "x"})
        assert refused.status_code == 503
        assert not drained.done()
        read_until(stream, b"[DONE]")
        drained.result(5)


def test_a_stalled_or_crashed_engine_fails_health_and_readiness():
    config = GatewayConfig()
    with running_gateway() as gateway:
        for fault in ("stalled", "crashed"):
            gateway.engine.stuck_seconds = config.stall_timeout + 1 if fault == "stalled" else 0.0
            gateway.engine.crashed = "RuntimeError" if fault == "crashed" else None
            health, ready = (httpx.get(f"{gateway.url}{path}") for path in ("/healthz", "/readyz"))
            assert (health.status_code, health.json()) == (503, {"status": fault})
            assert (ready.status_code, ready.json()["state"]) == (503, fault)
        gateway.engine.crashed = None
        assert httpx.get(f"{gateway.url}/healthz").status_code == 200


def test_metrics_are_prometheus_text_with_bounded_labels():
    with running_gateway() as gateway:
        httpx.post(f"{gateway.url}/v1/completions", json={"prompt": "x"})
        httpx.post(f"{gateway.url}/v1/completions", json={"prompt": ""})
        for path in ("/some/path", "/another"):
            httpx.get(gateway.url + path)
        response = httpx.get(f"{gateway.url}/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }
    requests = {
        tuple(value for _, value in labels): count
        for (name, *labels), count in samples.items()
        if name == "tokenmill_http_requests_total"
    }
    assert requests == {
        ("POST", "/v1/completions", "200"): 1,
        ("POST", "/v1/completions", "400"): 1,
        ("GET", "other", "404"): 2,
    }
    assert samples["tokenmill_admission_rejections_total", ("reason", "invalid_request")] == 1
    assert samples["tokenmill_http_request_duration_seconds_count", ("route", "/v1/completions")] == 2


def test_metrics_speak_openmetrics_to_those_who_ask():
    with running_gateway() as gateway:
        accept = {"accept": "application/openmetrics-text; version=1.0.0"}
        response = httpx.get(f"{gateway.url}/metrics", headers=accept)
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert response.text.endswith("# EOF\n")
