"""The small routes: models, health, metrics, and what is not there."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from engine.snapshot import EngineState, Health
from tests.support.house import CHAT, House
from tests.support.scripted_engine import MODEL

UNHEALTHY = [state for state in EngineState if state not in (EngineState.READY, EngineState.BUSY)]


async def test_the_model_list_fits_every_reader(house: House) -> None:
    body = await (await house.client.get("/v1/models")).json()
    assert body == {
        "object": "list",
        "has_more": False,
        "first_id": MODEL.id,
        "last_id": MODEL.id,
        "data": [
            {
                "id": MODEL.id,
                "object": "model",
                "created": 1_767_225_600,
                "owned_by": "local",
                "type": "model",
                "display_name": "Scripted-1B",
                "created_at": "2026-01-01T00:00:00Z",
                "context_length": 512,
                "max_model_len": 512,
                "max_input_tokens": 512,
                "max_tokens": 512,
            }
        ],
        "models": [{"slug": MODEL.id, "name": MODEL.id, "model": MODEL.id}],
    }


@pytest.mark.parametrize("name", ["house/Scripted-1B", "house%2FScripted-1B", "Scripted-1B"])
async def test_a_model_is_found_with_slashes(house: House, name: str) -> None:
    response = await house.client.get(f"/v1/models/{name}")
    assert response.status == 200
    assert (await response.json())["id"] == MODEL.id


@pytest.mark.parametrize(
    "name",
    [
        *("gpt-4o", "a/b/c", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "%00", "x" * 300, "%EF%BC%8E"),
        "/etc/passwd",
    ],
)
async def test_no_other_model_is_found(house: House, name: str) -> None:
    """S10: names are keys, never paths, and no answer repeats one."""
    response = await house.client.get(f"/v1/models/{name}")
    text = await response.text()
    assert response.status == 404
    assert "passwd" not in text
    assert '"code": "model_not_found"' in text or '"code": "not_found"' in text


@pytest.mark.parametrize("state", UNHEALTHY)
async def test_no_surface_pretends_to_serve(house: House, state: EngineState) -> None:
    """Server case 44: when the engine cannot serve, every route that needs it says so."""
    house.engine.health = Health(state, "Why it does not serve.")
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    for response in (
        await house.client.get("/health"),
        await house.client.get("/v1/models"),
        await house.client.get("/v1/models/x"),
        await house.client.post(CHAT, json=body),
    ):
        error = (await response.json())["error"]
        assert (response.status, error["code"]) == (503, "engine_unavailable")
        assert error["message"] == "Why it does not serve."
        assert int(response.headers["Retry-After"]) >= 1
    assert (await house.client.get("/metrics")).status == 200


@pytest.mark.parametrize("state", [EngineState.READY, EngineState.BUSY])
async def test_health_of_an_engine_that_serves(house: House, state: EngineState) -> None:
    house.engine.health = Health(state)
    response = await house.client.get("/health")
    assert response.status == 200
    assert await response.json() == {
        "status": "ok",
        "state": state.value,
        "reason": "",
        "model": MODEL.id,
    }


@pytest.mark.parametrize(("ok", "status"), [(True, 200), (False, 503)])
async def test_health_by_head(house: House, ok: bool, status: int) -> None:
    state = EngineState.READY if ok else EngineState.FAILED
    house.engine.health = Health(state, "" if ok else "The model folder has no tokenizer.")
    response = await house.client.head("/health")
    assert response.status == status
    assert await response.read() == b""


async def test_health_of_a_broken_model_says_why(house: House) -> None:
    house.engine.health = Health(EngineState.FAILED, "The model folder has no tokenizer.")
    house.engine.model = None
    body = await (await house.client.get("/health")).json()
    assert (body["status"], body["state"]) == ("failed", "failed")
    assert body["reason"] == "The model folder has no tokenizer."


async def test_metrics_can_be_scraped(house: House) -> None:
    house.metrics.admitted(prompt_tokens=10, cached_tokens=4, max_tokens=5)
    await house.client.get("/v1/nowhere")
    response = await house.client.get("/metrics")
    assert response.content_type == "text/plain"
    families = {f.name: f for f in text_string_to_metric_families(await response.text())}
    (running,) = families["vllm:num_requests_waiting"].samples
    assert running.value == 2
    assert families["vllm:prefix_cache_hits"].samples[0].value == 4
    (refused,) = [s for s in families["ondol:requests_refused"].samples if s.name.endswith("total")]
    assert (refused.labels["reason"], refused.value) == ("not_found", 1)


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/", 404, None),
        ("GET", "/v1", 404, None),
        ("GET", "/v1/models/", 404, None),
        ("POST", "/v1/engines", 404, None),
        ("GET", CHAT, 405, "POST"),
        ("DELETE", CHAT, 405, "POST"),
        ("POST", "/health", 405, "GET,HEAD"),
        ("PUT", "/v1/models", 405, "GET,HEAD"),
    ],
)
async def test_what_is_not_there_is_told_in_json(
    house: House, method: str, path: str, status: int, allow: str | None
) -> None:
    response = await house.client.request(method, path)
    error = (await response.json())["error"]
    assert response.status == status
    assert error["code"] == {404: "not_found", 405: "method_not_allowed"}[status]
    assert response.headers.get("Allow") == allow
    assert response.headers["X-Request-Id"].startswith("req-")
