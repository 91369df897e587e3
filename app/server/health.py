"""GET /health: 200 while requests are served, else 503 with the state and the reason."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web

from app.server.errors import unavailable
from app.server.keys import ENGINE


async def get_health(request: web.Request) -> web.Response:
    """Needs no key and touches no model, so it answers while the engine is busy or dead."""
    engine = request.app[ENGINE]
    health = engine.health
    body: dict[str, object] = {
        "status": "ok" if health.ok else health.state.value,
        "state": health.state.value,
        "reason": health.reason,
        "model": engine.snapshot.model_id,
    }
    if health.ok:
        return web.json_response(body)
    refusal = unavailable(health.reason)
    return web.json_response(
        body | refusal.envelope(), status=HTTPStatus.SERVICE_UNAVAILABLE, headers=refusal.headers
    )
