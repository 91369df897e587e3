"""GET /metrics for Prometheus."""

from __future__ import annotations

from aiohttp import hdrs, web

from app.server.keys import ENGINE, METRICS


async def get_metrics(request: web.Request) -> web.Response:
    """Answers in every state of the engine: after a failure these figures are looked for."""
    body, content_type = request.app[METRICS].render(request.app[ENGINE].snapshot)
    return web.Response(body=body, headers={hdrs.CONTENT_TYPE: content_type})
