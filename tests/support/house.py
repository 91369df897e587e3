"""The product's server around a scripted engine, for tests over real connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from app.server.runner import EnvelopeRunner
from engine.metrics import EngineMetrics
from tests.support.scripted_engine import ScriptedEngine

CHAT = "/v1/chat/completions"


class OndolTestServer(TestServer):
    """aiohttp's test server, with the runner that Ondol ships."""

    async def _make_runner(self, **kwargs: Any) -> web.AppRunner:
        return EnvelopeRunner(self.app)


@dataclass
class House:
    """A running server and what stands behind it."""

    client: TestClient[web.Request, web.Application]
    engine: ScriptedEngine
    metrics: EngineMetrics
    app: web.Application

    @property
    def url(self) -> str:
        return str(self.client.make_url("/v1"))


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something has happened elsewhere; fails after 5 seconds."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
