"""The aiohttp runner of Ondol: leaving clients cancel their handler, every error is an envelope."""

from __future__ import annotations

import logging
from http import HTTPStatus

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from app.server.access_log import LOGGER_NAME, AccessLog
from app.server.errors import ApiError, from_http
from app.server.keys import OPTIONS

IDLE_CONNECTION_S = 75.0
_LINGER_S = 2.0


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
        return _EnvelopeServer(inner)


class _EnvelopeServer(web.Server):
    def __init__(self, inner: web.Server) -> None:
        super().__init__(
            inner.request_handler,
            request_factory=inner.request_factory,
            handler_cancellation=inner.handler_cancellation,
            **inner._kwargs,
        )
        self._inner_handler = inner.request_handler
        self.request_handler = self._handle

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._inner_handler(request)
        except web.HTTPException as error:
            if error.status < HTTPStatus.BAD_REQUEST:
                raise
            return from_http(error).response()

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
        if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            refusal = ApiError(status, "invalid_http", "This is not a valid HTTP request.")
        else:
            refusal = ApiError(status, "internal_error", "The server could not answer.")
        response = refusal.response()
        response.force_close()
        return response
