"""One line per HTTP request: the route's pattern, never the address as sent (S13).

A path or a query string may hold keys and names; the pattern of the route that answered cannot.
"""

from __future__ import annotations

from aiohttp import hdrs, web
from aiohttp.abc import AbstractAccessLogger

from app.server.keys import REQUEST_ID

LOGGER_NAME = "app.access"


class AccessLog(AbstractAccessLogger):
    """Writes id, method, route, status, bytes and seconds."""

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        self.logger.info(
            "%s %s %s %d %dB %.3fs",
            request.get(REQUEST_ID, "-"),
            request.method if request.method in hdrs.METH_ALL else "?",
            _route(request),
            response.status,
            response.body_length,
            time,
        )


def _route(request: web.BaseRequest) -> str:
    # What could not be read as a request was never matched to a route.
    if not isinstance(request, web.Request) or getattr(request, "_match_info", None) is None:
        return "-"
    resource = request.match_info.route.resource
    return "-" if resource is None else resource.canonical
