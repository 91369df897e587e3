"""Host, Origin, preflight and content type: S2, S3, for every route and method."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable

import pytest

from app.server.app import ROUTES
from app.server.keys import ServerOptions
from app.server.security import host_allowed, origin_allowed
from tests.support.house import CHAT, House

Chat = Callable[..., dict[str, object]]

GOOD_HOSTS = [
    *("localhost", "localhost:8642", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.0.0.1:8642"),
    *("127.8.8.8:80", "[::1]", "[::1]:8642", "mac.local", "mac.local:8642", "app.localhost:3000"),
    socket.gethostname(),
]
BAD_HOSTS = [
    *("evil.example", "evil.example:8642", "localhost.evil.example", "127.0.0.1.evil.example"),
    *("0.0.0.0", "0.0.0.0:8642", "192.168.1.10", "10.0.0.1:8642", "[::]", "[fe80::1]:8642"),
    *("evillocalhost", "local", "127.0.0.1@evil.example", "localhost/evil", "localhost:port"),
    *("localhost:99999", "[::1", "evil.example#localhost", "localhost evil"),
]
GOOD_ORIGINS = [
    *("http://localhost", "http://localhost:3000", "https://localhost:8443", "http://127.0.0.1:1"),
    *("http://[::1]:5173", "app://obsidian.md", "file://", "tauri://localhost"),
    "vscode-webview://1a2b3c",
]
BAD_ORIGINS = [
    *("https://evil.example", "http://localhost.evil.example", "http://evil.example:8642", "null"),
    *("http://192.168.1.10", "http://localhost@evil.example", "chrome-extension://abcdef", ""),
    *("http://localhost/path", "ftp://localhost", "http://", "localhost", "http://localhost:x"),
    "http://0.0.0.0:8642",
]


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_good_hosts(host: str) -> None:
    assert host_allowed(host)


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_bad_hosts(host: str) -> None:
    assert not host_allowed(host)


@pytest.mark.parametrize("origin", GOOD_ORIGINS)
def test_good_origins(origin: str) -> None:
    assert origin_allowed(origin)


@pytest.mark.parametrize("origin", BAD_ORIGINS)
def test_bad_origins(origin: str) -> None:
    assert not origin_allowed(origin)


def test_a_user_s_lists_add_names() -> None:
    assert host_allowed("ondol.lan:8642", frozenset({"ondol.lan"}))
    assert origin_allowed("https://chat.example", frozenset({"https://chat.example"}))
    assert not origin_allowed("https://chat.example.evil", frozenset({"https://chat.example"}))


def every_route() -> list[tuple[str, str]]:
    paths = [(route.method, route.path.replace("{model_id:.+}", "x")) for route in ROUTES]
    return [*paths, ("GET", "/nowhere"), ("POST", "/nowhere"), ("DELETE", "/v1/models")]


@pytest.mark.parametrize(("method", "path"), every_route())
async def test_no_route_answers_a_stranger(house: House, method: str, path: str) -> None:
    """The router's own table: a route added later is checked here without being listed."""
    for headers, code in [
        ({"Host": "evil.example"}, "host_not_allowed"),
        ({"Origin": "https://evil.example"}, "origin_not_allowed"),
        ({"Origin": "null"}, "origin_not_allowed"),
    ]:
        response = await house.client.request(method, path, headers=headers)
        assert response.status == 403
        assert "Access-Control-Allow-Origin" not in response.headers
        if method != "HEAD":
            assert (await response.json())["error"]["code"] == code
    assert not house.engine.submitted


def test_the_router_has_no_other_routes(house: House) -> None:
    listed = {(route.method, route.path) for route in ROUTES} | {
        ("HEAD", route.path) for route in ROUTES if route.method == "GET"
    }
    served = {
        (route.method, route.resource.canonical)
        for route in house.app.router.routes()
        if route.resource is not None
    }
    assert served == {(method, path.replace(":.+", "")) for method, path in listed}


async def test_a_page_cannot_post_without_a_preflight(house: House, chat: Chat) -> None:
    """A text/plain body is a "simple" request: browsers send it without asking first."""
    body = json.dumps(chat())
    headers = {"Content-Type": "text/plain", "Origin": "https://evil.example"}
    response = await house.client.post(CHAT, data=body, headers=headers)
    assert response.status == 403
    assert not house.engine.submitted


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
async def test_only_json_bodies_are_read(
    house: House, chat: Chat, content_type: str | None
) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    response = await house.client.post(CHAT, data=json.dumps(chat()).encode(), headers=headers)
    assert response.status == 415
    assert (await response.json())["error"]["code"] == "unsupported_media_type"
    assert not house.engine.submitted


async def test_json_with_a_charset_is_json(house: House, chat: Chat) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    response = await house.client.post(CHAT, data=json.dumps(chat()), headers=headers)
    assert response.status == 200


async def test_a_preflight_from_an_allowed_page(house: House) -> None:
    headers = {
        "Origin": "http://localhost:3000",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type, x-stainless-os",
        "Access-Control-Request-Private-Network": "true",
    }
    response = await house.client.options(CHAT, headers=headers)
    assert response.status == 204
    assert response.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"
    assert response.headers["Vary"] == "Origin"
    assert "POST" in response.headers["Access-Control-Allow-Methods"]
    assert response.headers["Access-Control-Allow-Headers"].endswith("x-stainless-os")
    assert response.headers["Access-Control-Allow-Private-Network"] == "true"
    assert "Access-Control-Allow-Credentials" not in response.headers


async def test_a_preflight_from_a_stranger_grants_nothing(house: House) -> None:
    headers = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
    }
    response = await house.client.options(CHAT, headers=headers)
    assert response.status == 403
    assert not [name for name in response.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_allowed_page_may_read_the_answer(house: House, chat: Chat, stream: bool) -> None:
    headers = {"Origin": "app://obsidian.md"}
    response = await house.client.post(CHAT, json=chat(stream=stream), headers=headers)
    assert response.status == 200
    assert response.headers["Access-Control-Allow-Origin"] == "app://obsidian.md"
    assert response.headers["Vary"] == "Origin"
    refused = await house.client.get("/nowhere", headers=headers)
    assert refused.headers["Access-Control-Allow-Origin"] == "app://obsidian.md"


async def raw(house: House, request: bytes) -> tuple[int, str]:
    """Status and body of an exchange that a client library would not send."""
    reader, writer = await asyncio.open_connection(house.client.host, house.client.port)
    writer.write(request)
    async with asyncio.timeout(5):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1])
            for line in head.split("\r\n")
            if line.lower().startswith("content-length")
        )
        body = (await reader.readexactly(length)).decode()
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"GET /health HTTP/1.0\r\n\r\n", 400, "invalid_host"),
        (b"GET /health HTTP/1.1\r\nHost:\r\n\r\n", 400, "invalid_host"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400, None),
        (b"GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, None),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n", 417, None),
        (b"GARBAGE\r\n\r\n", 400, "invalid_http"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n", 400, "invalid_http"),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "invalid_http"),
        (b"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, None),
    ],
)
async def test_hostile_http(
    house: House, request_bytes: bytes, status: int, code: str | None
) -> None:
    answered, body = await raw(house, request_bytes)
    error = json.loads(body)["error"]
    assert answered == status
    if code is not None:
        assert error["code"] == code
    assert "Traceback" not in body
    assert (await house.client.get("/health")).status == 200


class TestMoreOrigins:
    @pytest.fixture
    def options(self) -> ServerOptions:
        return ServerOptions(allowed_origins=frozenset({"https://chat.example"}))

    async def test_a_user_may_allow_an_origin(self, house: House) -> None:
        headers = {"Origin": "https://chat.example"}
        response = await house.client.get("/health", headers=headers)
        assert response.status == 200
        assert response.headers["Access-Control-Allow-Origin"] == "https://chat.example"
