"""The composition root: settings, engine and server become one running Ondol. No Qt in here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from app.instance import Instance
from app.paths import Paths
from app.ports import EnginePort
from app.server.app import make_app
from app.server.dispatch import Dispatcher
from app.server.http_thread import HttpThread
from app.server.keys import ServerOptions
from app.settings import Settings, format_url
from engine.config import EngineConfig
from engine.metrics import EngineMetrics
from engine.model import catalog, device
from engine.request import Event

logger = logging.getLogger(__name__)

ENGINE_STOP_S = 30.0
HTTP_STOP_S = 10.0


class EngineFactory(Protocol):
    """Makes an engine that has not been started."""

    def __call__(
        self,
        model: Path,
        config: EngineConfig,
        *,
        model_id: str,
        deliver: Callable[[tuple[Event, ...]], None],
        metrics: EngineMetrics,
    ) -> EnginePort: ...


class Home:
    """Everything of one data folder, from `start` to `stop`."""

    def __init__(
        self, settings: Settings, paths: Paths, engine_factory: EngineFactory | None = None
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._engine_factory = engine_factory
        self._instance = Instance(paths.data)
        self._http: HttpThread | None = None
        self._engine: EnginePort | None = None
        self._port = settings.port

    @property
    def engine(self) -> EnginePort:
        if self._engine is None:
            raise RuntimeError("home has not been started")
        return self._engine

    @property
    def url(self) -> str:
        """Where clients find this Ondol, once it has started."""
        return format_url(self._settings.host, self._port)

    def start(self) -> None:
        """Take the data folder, listen, begin to load the model. Until that is done HTTP says 503.

        Raises InstanceHeld, BindError, EngineError (no model folder can be had), OSError; then
        nothing runs and the data folder is free again.
        """
        self._instance.acquire()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        # Before anything imports mlx: it must find the fast BLAS already loaded.
        device.prepare()
        folder = self._settings.model or catalog.starter_model_folder(self._paths.data)
        model_id = catalog.model_id_of(folder)
        metrics = EngineMetrics(model_id)
        dispatcher = Dispatcher()
        make_engine = self._engine_factory or product_engine
        engine = make_engine(
            folder,
            EngineConfig(kv_budget_bytes=self._settings.kv_budget_bytes),
            model_id=model_id,
            deliver=dispatcher.deliver,
            metrics=metrics,
        )
        app = make_app(engine, dispatcher, metrics, ServerOptions())
        http = HttpThread(app, self._settings.host, self._settings.port)
        self._port = http.start()
        self._http = http
        self._instance.announce(self._settings.host, self._port)
        self._engine = engine
        engine.start()
        logger.info("started on port %d with model %s", self._port, model_id)

    def stop(self) -> bool:
        """The order of exit (design §2): accept nothing new, cancel, let the engine drain and free
        on its own thread, then end the loop. Returns whether every thread has ended.
        """
        ended = True
        if self._http is not None:
            self._http.stop_accepting()
        if self._engine is not None:
            ended = self._engine.stop(ENGINE_STOP_S)
        if self._http is not None:
            ended = self._http.stop(HTTP_STOP_S) and ended
        self._instance.release()
        logger.info("stopped%s", "" if ended else ", but a thread did not end in time")
        return ended


def product_engine(
    model: Path,
    config: EngineConfig,
    *,
    model_id: str,
    deliver: Callable[[tuple[Event, ...]], None],
    metrics: EngineMetrics,
) -> EnginePort:
    """The engine that Ondol ships. Imported here, as it is not needed to parse a command line."""
    from engine.engine import Engine

    return Engine(model, config, model_id=model_id, deliver=deliver, metrics=metrics)
