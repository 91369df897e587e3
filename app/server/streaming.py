"""Server-sent events: data, keep-alive comments, and a clock that knows the last byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from aiohttp import hdrs, web

_HEADERS = {
    hdrs.CONTENT_TYPE: "text/event-stream; charset=utf-8",
    hdrs.CACHE_CONTROL: "no-cache",
    # Proxies that buffer would hold back the first token.
    "X-Accel-Buffering": "no",
}
# Legal inside JSON, but line readers of several clients split a line there.
_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


class EventStream:
    """One answer as server-sent events.

    Writing to a client that has left raises ConnectionError.
    """

    def __init__(self, request: web.Request, keepalive_s: float) -> None:
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._keepalive_s = keepalive_s
        self._next_beat = self._loop.time() + keepalive_s
        self.response = web.StreamResponse(headers=_HEADERS)

    async def start(self, *first: Mapping[str, object]) -> None:
        """Send the headers and the first events in one go."""
        await self.response.prepare(self._request)
        await self.send(*first)

    async def send(self, *events: Mapping[str, object]) -> None:
        """Write events with one system call."""
        if events:
            await self._write("".join(_event(data) for data in events))

    async def beat(self, done: int, total: int) -> None:
        """A comment that every client ignores: `done` of `total` prompt tokens stand in KV."""
        await self._write(f": keepalive {done}/{total}\n\n")

    async def close(self) -> None:
        """The marker that OpenAI's clients wait for."""
        await self._write("data: [DONE]\n\n")

    @property
    def until_beat_s(self) -> float:
        """Seconds left until silence has lasted too long; never negative."""
        return max(0.0, self._next_beat - self._loop.time())

    async def _write(self, text: str) -> None:
        await self.response.write(text.encode("utf-8"))
        self._next_beat = self._loop.time() + self._keepalive_s


def client_gone(request: web.Request) -> bool:
    """Whether the connection is closed or closing; aiohttp's cancellation normally comes first."""
    return request.transport is None or request.transport.is_closing()


def _event(data: Mapping[str, object]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text if text.isascii() else text.translate(_LINE_BREAKS)}\n\n"
