"""Renders chat templates in a process of their own, within limits (security S6)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import TemplateError

RENDER_LIMIT_S = 2.0
MAX_KWARGS = 32

_START_LIMIT_S = 30.0
_WORKER_PATH = Path(__file__).with_name("template_worker.py")
# What Python and the local date need; a stranger's template has no business with the rest.
_ENVIRONMENT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ")


@dataclass(frozen=True, slots=True)
class RenderJob:
    """One rendering: messages and tools as plain JSON data, further variables in `kwargs`."""

    messages: Sequence[Mapping[str, object]]
    tools: Sequence[Mapping[str, object]] | None = None
    add_generation_prompt: bool = False
    kwargs: Mapping[str, object] = field(default_factory=dict)


class TemplateRenderer:
    """Renders chat templates. All methods may be called from any thread; they take turns.

    The process starts at first use, and again after a template hung or crashed it. It has
    `RENDER_LIMIT_S` for one call, and limits on output, memory and rights of its own. Whatever
    goes wrong is a TemplateError, and the next call works.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._closed = False

    def render(
        self,
        template: str,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[Mapping[str, object]] | None,
        *,
        add_generation_prompt: bool,
        **kwargs: object,
    ) -> str:
        """Text of the messages. Raises TemplateError."""
        job = RenderJob(messages, tools, add_generation_prompt, kwargs)
        (result,) = self.render_batch(template, [job])
        if isinstance(result, TemplateError):
            raise result
        return result

    def render_batch(
        self,
        template: str,
        jobs: Sequence[RenderJob],
        constants: Mapping[str, str] | None = None,
    ) -> list[str | TemplateError]:
        """All jobs in one round trip, each with its text or why the template refused it.

        `constants` are variables of every job, such as the model's special tokens. Raises
        TemplateError for what concerns all jobs: the template cannot be read, hung or crashed.
        """
        if any(len(job.kwargs) > MAX_KWARGS for job in jobs):
            raise TemplateError(f"A chat template takes at most {MAX_KWARGS} arguments.")
        reply = self._exchange(
            {
                "template": template,
                "constants": dict(constants or {}),
                "jobs": [
                    {
                        "messages": job.messages,
                        "tools": job.tools,
                        "add_generation_prompt": job.add_generation_prompt,
                        "kwargs": job.kwargs,
                    }
                    for job in jobs
                ],
            }
        )
        return [
            TemplateError(result["error"]) if "error" in result else str(result["text"])
            for result in reply["results"]
        ]

    def variables(self, template: str) -> frozenset[str]:
        """Names the template reads without setting them itself. Raises TemplateError."""
        return frozenset(self._exchange({"template": template, "variables": True})["variables"])

    def warm_up(self) -> None:
        """Starts the process, so that the first prompt does not wait for it."""
        self.render_batch("", [])

    def close(self) -> None:
        """Ends the process; later calls raise TemplateError. Waits for a call that is running."""
        with self._lock:
            self._closed = True
            self._end_worker()

    def _exchange(self, request: Mapping[str, object]) -> dict[str, Any]:
        try:
            body = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        except RecursionError:
            raise TemplateError("The messages or tools are nested too deeply.") from None
        with self._lock:
            worker = self._live_worker()
            try:
                body = worker.exchange(body)
            except TimeoutError:
                self._replace_worker()
                raise TemplateError(
                    f"The chat template took longer than {RENDER_LIMIT_S:g} s."
                ) from None
            except (OSError, EOFError):
                self._replace_worker()
                raise TemplateError(
                    "The chat template crashed its renderer, most likely by taking too much memory."
                ) from None
        reply: dict[str, Any] = json.loads(body.decode("utf-8", "surrogatepass"))
        if "error" in reply:
            raise TemplateError(reply["error"])
        return reply

    def _live_worker(self) -> _Worker:
        if self._closed:
            raise TemplateError("The template renderer is closed.")
        if self._worker is not None and not self._worker.is_alive():
            self._end_worker()
        try:
            self._worker = self._worker or _Worker()
            self._worker.wait_until_ready()
        except (OSError, EOFError):
            self._end_worker()
            raise TemplateError("The template renderer could not be started.") from None
        return self._worker

    def _replace_worker(self) -> None:
        """Starts the next process at once; it gets ready while nobody waits for it."""
        self._end_worker()
        try:
            self._worker = _Worker()
        except OSError:
            # The next call tries again and reports it.
            self._worker = None

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None


class _Worker:
    """One renderer process and the socket to it. Killed when ended, dropped or at exit."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", str(_WORKER_PATH)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                    # Ctrl-C in a terminal is for Ondol, which ends this process itself.
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
        self._socket = ours
        self._is_ready = False
        self.end = weakref.finalize(self, _kill, self._process, ours)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Raises OSError or EOFError when the process does not come up."""
        if not self._is_ready:
            self._receive(time.monotonic() + _START_LIMIT_S)
            self._is_ready = True

    def exchange(self, body: bytes) -> bytes:
        """One frame there and one back. Raises TimeoutError, OSError or EOFError."""
        deadline = time.monotonic() + RENDER_LIMIT_S
        self._socket.settimeout(RENDER_LIMIT_S)
        self._socket.sendall(len(body).to_bytes(4, "big") + body)
        return self._receive(deadline)

    def _receive(self, deadline: float) -> bytes:
        size = int.from_bytes(self._receive_exactly(4, deadline), "big")
        return self._receive_exactly(size, deadline)

    def _receive_exactly(self, num_bytes: int, deadline: float) -> bytes:
        data = bytearray(num_bytes)
        view = memoryview(data)
        while view:
            # A limit of zero would switch the socket to non-blocking.
            self._socket.settimeout(max(deadline - time.monotonic(), 1e-3))
            received = self._socket.recv_into(view)
            if not received:
                raise EOFError
            view = view[received:]
        return bytes(data)


def _kill(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    process.kill()
    process.wait()
