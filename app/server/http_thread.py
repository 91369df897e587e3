"""The http thread: an asyncio loop of its own, so that a GUI can own the main thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import os
import threading

from aiohttp import web

from app.server.runner import EnvelopeRunner
from app.settings import format_url

_START_LIMIT_S = 30.0


class BindError(Exception):
    """The address cannot be listened on; one line that says why."""


class HttpThread:
    """Serves one application from `start` to `stop`. Its methods are called on another thread."""

    def __init__(self, app: web.Application, host: str, port: int) -> None:
        self._app = app
        self._host = host
        self._port = port
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        self._bound: concurrent.futures.Future[int] = concurrent.futures.Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._refuse = asyncio.Event()
        self._leave = asyncio.Event()

    def start(self) -> int:
        """Listen; returns the port, which matters where 0 asked for any. Raises BindError."""
        self._thread.start()
        try:
            return self._bound.result(_START_LIMIT_S)
        except OSError as error:
            self._thread.join()
            raise BindError(self._explain(error)) from error

    def stop_accepting(self) -> None:
        """Take no more connections; open ones go on."""
        self._signal(self._refuse)

    def stop(self, timeout_s: float) -> bool:
        """Let open answers end within the grace of ServerOptions, then end the loop and the thread.

        Returns whether the thread has ended.
        """
        self._signal(self._refuse)
        self._signal(self._leave)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _signal(self, event: asyncio.Event) -> None:
        if self._loop is not None and self._thread.is_alive():
            try:
                self._loop.call_soon_threadsafe(event.set)
            except RuntimeError:
                # The loop ended between the check and the call.
                return

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        runner = EnvelopeRunner(self._app)
        try:
            await runner.setup()
            site = web.TCPSite(runner, self._host, self._port)
            await site.start()
        except BaseException as error:
            await runner.cleanup()
            self._bound.set_exception(error)
            return
        self._bound.set_result(runner.addresses[0][1])
        await self._refuse.wait()
        await site.stop()
        await self._leave.wait()
        await runner.cleanup()

    def _explain(self, error: OSError) -> str:
        where = format_url(self._host, self._port)
        if error.errno == errno.EADDRINUSE:
            return (
                f"Port {self._port} is taken: another program listens on {where}. "
                "Choose another with --port."
            )
        why = os.strerror(error.errno) if error.errno else "the host is unknown"
        return f"Ondol cannot listen on {where}: {why}."
