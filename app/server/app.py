"""The web application: its routes, its middlewares, what the handlers share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web

from app.last_chat import LastChat
from app.ports import EnginePort
from app.server import chat, health, metrics, models
from app.server.dispatch import Dispatcher
from app.server.errors import add_request_id, errors_middleware
from app.server.keys import (
    DISPATCHER,
    ENGINE,
    EXECUTOR,
    LARGE_EXECUTOR,
    LAST_CHAT,
    METRICS,
    OPTIONS,
    ServerOptions,
)
from app.server.security import add_cors_headers, security_middleware
from engine.metrics import EngineMetrics

_PREPARING_THREADS = 4
_LARGE_AT_ONCE = 1  # its parts may take a gigabyte, and Python's lock most of the time

ROUTES = (
    web.get("/health", health.get_health),
    web.get("/metrics", metrics.get_metrics),
    web.get("/v1/models", models.list_models),
    web.get(r"/v1/models/{model_id:.+}", models.retrieve_model),
    web.post("/v1/chat/completions", chat.chat_completions),
)


def make_app(
    engine: EnginePort,
    dispatcher: Dispatcher,
    engine_metrics: EngineMetrics,
    options: ServerOptions | None = None,
    last_chat: LastChat | None = None,
) -> web.Application:
    """The server over one engine, whose `deliver` must be `dispatcher.deliver`. `last_chat` learns
    of every chat that is understood."""
    options = options or ServerOptions()
    app = web.Application(
        middlewares=[errors_middleware, security_middleware], client_max_size=options.body_limit
    )
    app[ENGINE] = engine
    app[DISPATCHER] = dispatcher
    app[METRICS] = engine_metrics
    app[OPTIONS] = options
    app[LAST_CHAT] = last_chat or LastChat()
    app.add_routes(ROUTES)
    app.on_response_prepare.append(add_request_id)
    app.on_response_prepare.append(add_cors_headers)
    app.cleanup_ctx.append(_prepare_off_the_loop)
    return app


async def _prepare_off_the_loop(app: web.Application) -> AsyncIterator[None]:
    """Threads for parsing and tokenising, and the loop that events are delivered on. Large bodies
    wait for each other, so that no small request waits for one of them."""
    app[DISPATCHER].attach(asyncio.get_running_loop())
    executor = ThreadPoolExecutor(_PREPARING_THREADS, thread_name_prefix="prepare")
    large = ThreadPoolExecutor(_LARGE_AT_ONCE, thread_name_prefix="prepare-large")
    app[EXECUTOR], app[LARGE_EXECUTOR] = executor, large
    yield
    app[DISPATCHER].detach()
    for threads in (executor, large):
        threads.shutdown(wait=False, cancel_futures=True)
