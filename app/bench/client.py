"""A small HTTP client with a stopwatch: what a chat client waits for."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.bench.errors import BenchError, EmptyAnswer

ONDOL = "ondol serve"

Messages = Sequence[Mapping[str, str]]
Tools = Sequence[Mapping[str, object]]

# Longer than any silence: the server breaks each with a comment every 5 seconds.
_SILENCE_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request cost, and its text. `ttft_s` runs from just before sending to the first
    text."""

    ttft_s: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class HealthReport:
    """What `/health` says; `ok` with status 200."""

    ok: bool
    state: str
    reason: str


class Client:
    """Talks to one server, which messages call `server`. Every request has a connection of its own,
    made before the clock runs."""

    def __init__(self, host: str, port: int, server: str = ONDOL) -> None:
        self._host = host
        self._port = port
        self._server = server

    def health(self) -> HealthReport:
        """Raises OSError while nobody listens."""
        connection = self._connect()
        try:
            connection.request("GET", "/health")
            response = connection.getresponse()
            body = json.loads(response.read())
            ok = response.status == http.client.OK
            return HealthReport(ok, str(body.get("state")), str(body.get("reason")))
        finally:
            connection.close()

    def metrics(self) -> str:
        """What `/metrics` says. Raises BenchError."""
        try:
            connection = self._connect()
            try:
                connection.request("GET", "/metrics")
                return connection.getresponse().read().decode()
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise BenchError(f"The connection to `{self._server}` broke: {error!r}") from error

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        salt: str,
        tools: Tools = (),
        name: str = "",
    ) -> Answer:
        """Stream a greedy answer to its end. `name` is what the client calls itself, if anything.
        Raises BenchError, EmptyAnswer."""
        body: dict[str, object] = {
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": 0,
            "cache_salt": salt,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = list(tools)
        headers = {"Content-Type": "application/json"}
        if name:
            headers["User-Agent"] = name
        try:
            connection = self._connect()
            try:
                started = time.perf_counter()
                connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
                response = connection.getresponse()
                if response.status != http.client.OK:
                    message = _message(response.read())
                    raise BenchError(f"`{self._server}` refused a request: {message}")
                return read_answer(response, started, self._server)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise BenchError(f"The connection to `{self._server}` broke: {error!r}") from error

    def _connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_SILENCE_LIMIT_S)
        connection.connect()
        return connection


def read_answer(lines: Iterable[bytes], started: float, server: str = ONDOL) -> Answer:
    """Read server-sent events as they come; `started` is `time.perf_counter()` at the sending.

    Raises BenchError, EmptyAnswer.
    """
    ttft_s: float | None = None
    texts: list[str] = []
    usage: Mapping[str, Any] | None = None
    for line in lines:
        if not line.startswith(b"data: {"):  # a comment, an empty line, [DONE]
            continue
        data = line.removeprefix(b"data: ")
        event = json.loads(data)
        if "error" in event:
            raise BenchError(f"`{server}` ended an answer with an error: {_message(data)}")
        text = "".join(choice["delta"].get("content") or "" for choice in event["choices"])
        if text and ttft_s is None:
            ttft_s = time.perf_counter() - started
        texts.append(text)
        usage = event.get("usage") or usage
    if usage is None:
        raise BenchError(f"`{server}` ended an answer without its usage.")
    if ttft_s is None:
        raise EmptyAnswer("The model answered without a word.")
    return Answer(
        ttft_s=ttft_s,
        prompt_tokens=int(usage["prompt_tokens"]),
        cached_tokens=int(usage["prompt_tokens_details"]["cached_tokens"]),
        completion_tokens=int(usage["completion_tokens"]),
        text="".join(texts),
    )


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")
