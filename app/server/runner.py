"""The aiohttp runner of Ondol: leaving clients cancel their handler, every error is an envelope."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import resource
from http import HTTPStatus

from aiohttp import web
from aiohttp.http_exceptions import ContentEncodingError
from aiohttp.web_protocol import RequestHandler

from app.server.access_log import LOGGER_NAME, AccessLog
from app.server.errors import ApiError, from_http, unsupported_encoding
from app.server.keys import OPTIONS

IDLE_CONNECTION_S = 75.0
_LINGER_S = 2.0
_WARN_EVERY_S = 60.0

logger = logging.getLogger(__name__)


class EnvelopeRunner(web.AppRunner):
    """Runs an application so that also what never reaches it is answered in the common shape:
    broken HTTP, impossible expectations."""

    def __init__(self, app: web.Application) -> None:
        super().__init__(
            app,
            handler_cancellation=True,
            access_log=logging.getLogger(LOGGER_NAME),
            access_log_class=AccessLog,
            shutdown_timeout=app[OPTIONS].stop_grace_s,
            # Also the limit for a client that sends its headers byte by byte (S12).
            keepalive_timeout=IDLE_CONNECTION_S,
            lingering_time=_LINGER_S,
        )

    async def _make_server(self) -> web.Server:
        inner = await super()._make_server()
        return _EnvelopeServer(inner, most_connections(self.app[OPTIONS].most_connections))


def most_connections(wanted: int) -> int:
    """How many connections there is room for: each takes a file, and half of the files that the
    system allows are left to everybody else. Asks the system for more where it allows few."""
    allowed, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed < 2 * wanted:
        more = 2 * wanted if limit == resource.RLIM_INFINITY else min(2 * wanted, limit)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, limit))
            allowed = more
    return max(1, min(wanted, allowed // 2))


class _EnvelopeServer(web.Server):
    """Answers in the common shape, and lets no flood of connections take every file."""

    def __init__(self, inner: web.Server, most: int) -> None:
        super().__init__(
            inner.request_handler,
            request_factory=inner.request_factory,
            handler_cancellation=inner.handler_cancellation,
            **inner._kwargs,
        )
        self._most = most
        self._busy: set[RequestHandler] = set()
        self._warned_at = -math.inf
        self._inner_handler = inner.request_handler
        self.request_handler = self._handle

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self.connections) > self._most:
            self._close_idle(newest=handler)

    def _close_idle(self, newest: RequestHandler) -> None:
        """Close the connection that has waited longest for nothing; the newest if all are busy."""
        now = self._loop.time()
        if now - self._warned_at >= _WARN_EVERY_S:
            self._warned_at = now
            logger.warning("more than %d connections: idle ones are closed", self._most)
        idle = (
            handler
            for handler in self.connections
            if handler not in self._busy and handler.transport is not None
        )
        next(idle, newest).force_close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        handler = request.protocol
        self._busy.add(handler)
        try:
            return await self._inner_handler(request)
        except web.HTTPException as error:
            if error.status < HTTPStatus.BAD_REQUEST:
                raise
            return from_http(error).response()
        finally:
            self._busy.discard(handler)

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(RequestHandler):
    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Log as aiohttp does; say what is wrong in our words, without quoting the input."""
        super().handle_error(request, status, exc, message)
        if isinstance(exc, ContentEncodingError):
            refusal = unsupported_encoding()
        elif status < HTTPStatus.INTERNAL_SERVER_ERROR:
            refusal = ApiError(status, "invalid_http", "This is not a valid HTTP request.")
        else:
            refusal = ApiError(status, "internal_error", "The server could not answer.")
        response = refusal.response()
        response.force_close()
        return response
