"""Who may call: Host and Origin for every method, JSON bodies, CORS for allowed origins (S2, S3).

A web page can make a browser send requests to this machine, and a hostile name can be made to
resolve to it. So both headers are checked before any handler, also where no preflight came first.
"""

from __future__ import annotations

import ipaddress
import socket
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import hdrs, web

from app.server.errors import ApiError, Handler, unsupported_encoding
from app.server.keys import OPTIONS

_PAGE_SCHEMES = frozenset({"http", "https"})
_APP_SCHEMES = frozenset({"app", "tauri", "vscode-webview"})
_FILE_ORIGIN = "file://"
_BODY_METHODS = frozenset({hdrs.METH_POST, hdrs.METH_PUT, hdrs.METH_PATCH, hdrs.METH_DELETE})
_JSON = "application/json"
_ENCODINGS = ("identity", "gzip", "deflate")
_PREFLIGHT_MAX_AGE_S = "600"
_EXPOSED_HEADERS = "X-Request-Id, Retry-After"
_DEFAULT_HEADERS = "Authorization, Content-Type"
_PRIVATE_NETWORK = "Access-Control-{}-Private-Network"


@web.middleware
async def security_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses by Host, Origin and content type, answers OPTIONS, and lets the rest through."""
    _check_host(request)
    _check_origin(request)
    if request.method == hdrs.METH_OPTIONS:
        return _preflight(request)
    if request.method in _BODY_METHODS and request.can_read_body:
        _check_content_type(request)
    return await handler(request)


async def add_cors_headers(request: web.Request, response: web.StreamResponse) -> None:
    """A signal handler: an allowed origin, and only that one, may read the answer."""
    origin = request.headers.get(hdrs.ORIGIN)
    if origin is None or not origin_allowed(origin, request.app[OPTIONS].allowed_origins):
        return
    response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
    response.headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = _EXPOSED_HEADERS
    response.headers.add(hdrs.VARY, hdrs.ORIGIN)


def host_allowed(host: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether a Host header names this machine. A port of any number may follow the name."""
    name = _host_name(host)
    if name is None:
        return False
    if name in more or name == "localhost" or name.endswith((".localhost", ".local")):
        return True
    if name == socket.gethostname().lower():
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def origin_allowed(origin: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether pages of an Origin may call: this machine's own, desktop apps, and a user's list."""
    if origin in more or origin == _FILE_ORIGIN:
        return True
    try:
        parts = urlsplit(origin)
        name, _port = parts.hostname, parts.port
    except ValueError:
        return False
    if not name or "@" in parts.netloc or parts.path or parts.query or parts.fragment:
        return False
    if parts.scheme in _APP_SCHEMES:
        return True
    if parts.scheme not in _PAGE_SCHEMES:
        return False
    return name in ("localhost", "127.0.0.1", "::1")


def _host_name(host: str) -> str | None:
    """The name in a Host header, lower case, without port, brackets or a root dot."""
    try:
        parts = urlsplit(f"//{host}")
        name, _port = parts.hostname, parts.port
    except ValueError:
        return None
    if not name or parts.netloc != host or "@" in host:
        return None
    return name.removesuffix(".")


def _check_host(request: web.Request) -> None:
    hosts = request.headers.getall(hdrs.HOST, [])
    if len(hosts) != 1 or not hosts[0]:
        raise ApiError(HTTPStatus.BAD_REQUEST, "invalid_host", "The request needs one Host header.")
    if not host_allowed(hosts[0], request.app[OPTIONS].allowed_hosts):
        raise ApiError(
            HTTPStatus.FORBIDDEN,
            "host_not_allowed",
            "Ondol does not answer to this host name. Use 127.0.0.1 or localhost.",
        )


def _check_origin(request: web.Request) -> None:
    origins = request.headers.getall(hdrs.ORIGIN, [])
    allowed = request.app[OPTIONS].allowed_origins
    if len(origins) > 1 or any(not origin_allowed(origin, allowed) for origin in origins):
        raise ApiError(
            HTTPStatus.FORBIDDEN,
            "origin_not_allowed",
            "Pages of this origin may not use Ondol.",
        )


def _check_content_type(request: web.Request) -> None:
    if request.content_type != _JSON:
        raise ApiError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            f"Send the body with Content-Type: {_JSON}.",
        )
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "identity").strip().lower()
    if encoding not in _ENCODINGS:
        raise unsupported_encoding()


def _preflight(request: web.Request) -> web.Response:
    """204 for OPTIONS; the CORS permissions only where an allowed origin asks for them."""
    methods = "GET, HEAD, POST, OPTIONS"
    if hdrs.ORIGIN not in request.headers:
        return web.Response(status=HTTPStatus.NO_CONTENT, headers={hdrs.ALLOW: methods})
    wanted = request.headers.get(hdrs.ACCESS_CONTROL_REQUEST_HEADERS, _DEFAULT_HEADERS)
    headers: dict[str, str] = {
        hdrs.ACCESS_CONTROL_ALLOW_METHODS: methods,
        hdrs.ACCESS_CONTROL_ALLOW_HEADERS: wanted,
        hdrs.ACCESS_CONTROL_MAX_AGE: _PREFLIGHT_MAX_AGE_S,
    }
    if request.headers.get(_PRIVATE_NETWORK.format("Request")) == "true":
        headers[_PRIVATE_NETWORK.format("Allow")] = "true"
    return web.Response(status=HTTPStatus.NO_CONTENT, headers=headers)
