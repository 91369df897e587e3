"""Large bodies and many connections: small requests are answered all the same."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import resource
import threading
from collections.abc import Callable

import pytest

from app.server import body, runner
from app.server import chat as chat_module
from app.server.body import LARGE_BODY_BYTES, MAX_CONTAINERS, parse_object
from app.server.errors import ApiError
from app.server.keys import ServerOptions
from app.server.runner import most_connections
from tests.support.house import CHAT, House, until

Chat = Callable[..., dict[str, object]]
JSON = {"Content-Type": "application/json"}
MOST = 8


async def test_no_small_request_waits_for_a_large_one(
    house: House, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many large bodies as there are threads, and none of them comes to an end."""
    go_on, large = threading.Event(), threading.Semaphore(0)
    parse = chat_module.parse_object

    def held(content: bytes) -> dict[str, object]:
        if len(content) > LARGE_BODY_BYTES:
            large.release()
            go_on.wait(20)
        return parse(content)

    monkeypatch.setattr(chat_module, "parse_object", held)
    heavy = json.dumps(chat(user="x" * LARGE_BODY_BYTES)).encode()
    waiting = [
        asyncio.create_task(house.client.post(CHAT, data=io.BytesIO(heavy), headers=JSON))
        for _ in range(8)
    ]
    await until(lambda: large.acquire(blocking=False))
    async with asyncio.timeout(5):
        assert (await house.client.post(CHAT, json=chat())).status == 200
    assert not any(task.done() for task in waiting)
    assert not large.acquire(blocking=False)  # one at a time
    go_on.set()
    assert [task.status for task in await asyncio.gather(*waiting)] == [200] * 8


def test_a_body_of_millions_of_arrays_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parsed(*_args: object, **_options: object) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(body.json, "loads", parsed)
    for item in (b"[]", b"{}", b'{"\\\\":"\\"["}'):
        content = b'{"a":[' + b",".join([item] * MAX_CONTAINERS) + b"]}"
        with pytest.raises(ApiError) as caught:
            parse_object(content)
        assert (caught.value.status, caught.value.code) == (413, "request_too_large")


def test_brackets_in_a_text_are_no_arrays() -> None:
    code = b"[{(" * MAX_CONTAINERS + rb" \" [[ \\"
    assert parse_object(b'{"a":"' + code + b'","b":[1]}')["b"] == [1]


def test_values_are_looked_at_in_levels_and_not_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million of them below the deepest level that may be."""
    calls = []
    look = body._has_lone_surrogate
    monkeypatch.setattr(body, "_has_lone_surrogate", lambda v: calls.append(1) or look(v))
    depth = body.MAX_JSON_DEPTH - 1
    content = b'{"\\ud83d\\ude00":' + b"[" * depth + b"1," * 1_000_000 + b"1" + b"]" * depth + b"}"
    parse_object(content)
    assert len(calls) == body.MAX_JSON_DEPTH


@pytest.mark.parametrize("place", ["key", "value", "deep"])
def test_half_a_pair_is_found_wherever_it_is(place: str) -> None:
    half = rb'"\ud83d"'
    content = {
        "key": b'{"a":{' + half + b":1}}",
        "value": b'{"a":' + half + b"}",
        "deep": b'{"a":' + b"[" * 63 + half + b"]" * 63 + b"}",
    }[place]
    with pytest.raises(ApiError) as caught:
        parse_object(content)
    assert caught.value.code == "invalid_unicode"


class TestConnections:
    @pytest.fixture
    def options(self) -> ServerOptions:
        return ServerOptions(most_connections=MOST)

    async def test_idle_ones_make_room(
        self, house: House, chat: Chat, caplog: pytest.LogCaptureFixture
    ) -> None:
        house.engine.answer = None
        busy = asyncio.create_task(house.client.post(CHAT, json=chat()))
        await until(lambda: bool(house.engine.submitted))
        port = house.client.server.port
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5 * MOST)]
        assert (await house.client.get("/health")).status == 200
        closed = 0
        for reader, _ in idle:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    closed += await reader.read(1) == b""
        assert closed >= 4 * MOST
        warnings = [entry.message for entry in caplog.records if entry.levelname == "WARNING"]
        assert warnings == [f"more than {MOST} connections: idle ones are closed"]
        house.engine.play(house.engine.submitted[0], ["Hi"])
        assert (await busy).status == 200
        for _, writer in idle:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def test_half_of_the_files_are_left_to_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        limits = [(256, 300)]
        monkeypatch.setattr(runner.resource, "getrlimit", lambda _: limits[-1])
        monkeypatch.setattr(runner.resource, "setrlimit", lambda _, new: limits.append(new))
        assert most_connections(1024) == 150
        assert limits[-1] == (300, 300)
        limits.append((256, resource.RLIM_INFINITY))
        assert most_connections(1024) == 1024
        assert limits[-1] == (2048, resource.RLIM_INFINITY)
        assert most_connections(10) == 10
