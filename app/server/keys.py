"""What the handlers share: typed keys of the application and of one request."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field

from aiohttp import web

from app.last_chat import LastChat
from app.ports import EnginePort
from app.server.dispatch import Dispatcher
from engine.metrics import EngineMetrics

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a surface may do. Sizes are bytes, times seconds (S1, S2, S3, S12).

    body_limit         most bytes of a body, after decompression
    body_timeout_s     a body must have arrived by then
    keepalive_s        the longest silence of a stream
    poll_s             how often a silent connection is looked at
    most_connections   open at once; beyond it the one that is idle longest is closed
    stop_grace_s       how long open answers may take to end when the server stops
    model_aliases      further names of the loaded model
    allowed_hosts      further names this server may be called by (lower case)
    allowed_origins    further origins whose pages may call it, such as https://chat.example
    """

    body_limit: int = 32 * MIB
    body_timeout_s: float = 30.0
    keepalive_s: float = 5.0
    poll_s: float = 1.0
    most_connections: int = 1024
    stop_grace_s: float = 3.0
    model_aliases: frozenset[str] = field(default_factory=frozenset)
    allowed_hosts: frozenset[str] = field(default_factory=frozenset)
    allowed_origins: frozenset[str] = field(default_factory=frozenset)


ENGINE = web.AppKey("engine", EnginePort)
METRICS = web.AppKey("metrics", EngineMetrics)
DISPATCHER = web.AppKey("dispatcher", Dispatcher)
OPTIONS = web.AppKey("options", ServerOptions)
EXECUTOR = web.AppKey("executor", Executor)
LARGE_EXECUTOR = web.AppKey("large_executor", Executor)
LAST_CHAT = web.AppKey("last_chat", LastChat)

REQUEST_ID = web.RequestKey("request_id", str)
