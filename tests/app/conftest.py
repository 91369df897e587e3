"""A server over a scripted engine, run by the product's own runner on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from aiohttp.test_utils import TestClient
from blockbuster import BlockBuster, blockbuster_ctx

from app.server.app import make_app
from app.server.dispatch import Dispatcher
from app.server.keys import ServerOptions
from engine.metrics import EngineMetrics
from tests.support.house import House, OndolTestServer
from tests.support.scripted_engine import MODEL, ScriptedEngine


@pytest.fixture(autouse=True)
def loop_never_blocks() -> Iterator[BlockBuster]:
    """Nothing slow in a coroutine: a blocking call inside the loop fails the test."""
    with blockbuster_ctx("app") as guard:
        yield guard


@pytest.fixture
def options() -> ServerOptions:
    """Overridden by tests that need other limits."""
    return ServerOptions(model_aliases=frozenset({"house"}))


@pytest.fixture
async def house(options: ServerOptions) -> AsyncIterator[House]:
    dispatcher = Dispatcher()
    engine = ScriptedEngine(dispatcher.deliver)
    metrics = EngineMetrics(MODEL.id)
    app = make_app(engine, dispatcher, metrics, options)
    async with TestClient(OndolTestServer(app)) as client:
        yield House(client, engine, metrics, app)


@pytest.fixture
def chat() -> Callable[..., dict[str, object]]:
    """The body of a small chat request with further fields."""

    def make(**fields: object) -> dict[str, object]:
        return {"messages": [{"role": "user", "content": "Hi"}]} | fields

    return make
