"""The composition root: settings, storage, engine and server become one running Ondol. No Qt here.

Its steps are apart, so that a window can stand before the model does and ask for another port:
`open`, `listen`, `load`; headless they are one, `start`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from app.budget import check_kv_budget
from app.desk import Desk
from app.engine_config import engine_config
from app.engine_door import EngineDoor
from app.instance import Instance
from app.last_chat import LastChat
from app.model_import import check_model_path
from app.paths import Paths
from app.ports import EnginePort
from app.settings import MAX_PORT, Settings, format_url
from app.storage.errors import StorageError
from app.storage.settings_store import Preferences
from app.storage.store import Store
from engine.config import EngineConfig
from engine.errors import EngineError, EngineUnavailable
from engine.model import catalog, device
from engine.request import Event
from engine.snapshot import EngineState, Health

if TYPE_CHECKING:
    from app.server.dispatch import Dispatcher
    from app.server.http_thread import HttpThread
    from engine.metrics import EngineMetrics

logger = logging.getLogger(__name__)

ENGINE_STOP_S = 30.0
HTTP_STOP_S = 10.0
STORAGE_STOP_S = 30.0

_CHOSEN_IN_THE_WINDOW = ("port", "kv_budget_bytes", "admission", "max_running")
_PREPARING = Health(EngineState.LOADING, "The model is being prepared.")
_RESTARTING = Health(EngineState.LOADING, "Ondol is restarting.")
_STOPPED = Health(EngineState.STOPPED, "The engine is stopped.")


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
    """Everything of one data folder, from `start` to `stop`.

    `desk` is there at once: what is asked of it waits for the storage, or is refused until a model
    serves. All other methods take their time and are called on one thread after the other.
    """

    def __init__(
        self, settings: Settings, paths: Paths, engine_factory: EngineFactory | None = None
    ) -> None:
        self.paths = paths
        self._settings = settings
        self._engine_factory = engine_factory
        self._instance = Instance(paths.data)
        self._store = Store(paths.data)
        self._last_chat = LastChat()
        self._door = EngineDoor()
        self._http: HttpThread | None = None
        self._preferences = Preferences()
        self._port = self._wanted_port
        self._dispatcher: Dispatcher | None = None
        self._metrics: EngineMetrics | None = None
        self._stored = False  # whether the storage is open
        self._changing_engine = threading.Lock()  # the Desk's workers change the model
        self.ended_badly = False
        self.desk = Desk(
            self._door,
            self._store,
            paths,
            url=lambda: self.url,
            given=lambda: self._settings,
            last_chat=self._last_chat,
            use_model=self._use_model,
        )

    @property
    def engine(self) -> EnginePort:
        engine = self._door.engine
        if engine is None:
            raise RuntimeError("home has not been started")
        return engine

    @property
    def url(self) -> str:
        """Where clients find this Ondol, once it listens; before, where it means to."""
        return format_url(self._settings.host, self._port)

    @property
    def port_is_given(self) -> bool:
        """Whether the command line names the port, so that the preferences have no say."""
        return self._settings.port is not None

    # Start

    def start(self) -> None:
        """Open, listen, begin to load the model. Until that is done HTTP says 503.

        Raises InstanceHeld, StorageError, BindError, EngineError (no model folder can be had),
        OSError; then nothing runs and the data folder is free again.
        """
        try:
            self.open()
            self.listen()
            self.load()
        except BaseException:
            self.stop()
            raise

    def claim(self) -> None:
        """Take the data folder; quick. Raises InstanceHeld, OSError."""
        self._instance.acquire()

    def open(self) -> Preferences:
        """Take the data folder and open what is stored. `ended_badly` then says whether the last
        run was cut off. Raises InstanceHeld, StorageError, OSError."""
        self.claim()
        self._store.open().result()
        self._stored = True
        self._preferences = self._store.preferences().result()
        self.ended_badly = not self._preferences.last_run_clean
        if self.ended_badly:
            logger.warning("the last run was cut off before its end")
        self._mark_run(clean=False)
        self.desk.start()
        return self._preferences

    def listen(self, port: int | None = None) -> None:
        """Answer clients, at first with 503, on `port` or on the one that was chosen before.

        Raises BindError, OSError; then it may be tried again.
        """
        # Takes 0.3 s, in which a window can already be seen.
        from app.server.app import make_app
        from app.server.dispatch import Dispatcher
        from app.server.http_thread import HttpThread
        from app.server.keys import ServerOptions
        from engine.metrics import EngineMetrics

        wanted = self._wanted_port if port is None else port
        self._dispatcher = Dispatcher()
        self._metrics = EngineMetrics(self._model_id)
        app = make_app(
            self._door, self._dispatcher, self._metrics, ServerOptions(), self._last_chat
        )
        http = HttpThread(app, self._settings.host, wanted)
        self._port = wanted
        self._port = http.start()
        self._http = http
        self._instance.announce(self._settings.host, self._port)
        logger.info("listening on port %d", self._port)

    def load(self) -> None:
        """Begin to load the model. Raises EngineError where no model folder can be had; the reason
        is then the engine's, and `desk.use_model` is the way out."""
        with self._changing_engine:
            if self._door.engine is not None:
                return
            self._door.take(_PREPARING)
            try:
                # Before anything imports mlx: it must find the fast BLAS already loaded.
                device.prepare()
                check_kv_budget(self._config.kv_budget_bytes)
                folder = self._chosen_model or self._starter()
                check_model_path(folder)
                self._put_engine(folder)
            except EngineError as error:
                self._door.take(Health(EngineState.FAILED, str(error)))
                raise

    def restart(self) -> None:
        """Begin again with the preferences as they are now; the desk stays. What was changed since
        the start counts more than the command line.

        Raises as `listen` and `load`; where `listen` failed, both may be tried again.
        """
        logger.info("restarting")
        http, _ = self._stop_engine(_RESTARTING)
        _stop_http(http)
        before, self._preferences = self._preferences, self._store.preferences().result()
        changed: dict[str, Any] = {
            name: None
            for name in _CHOSEN_IN_THE_WINDOW
            if getattr(self._preferences, name) != getattr(before, name)
        }
        self._settings = replace(self._settings, **changed)
        self.listen()
        self.load()

    def next_free_port(self) -> int:
        """A port after the one that was tried which nobody listens on; 0 where there is none."""
        family = socket.AF_INET6 if ":" in self._settings.host else socket.AF_INET
        for port in range(self._port + 1, MAX_PORT + 1):
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with contextlib.suppress(OSError):
                    probe.bind((self._settings.host, port))
                    return port
        return 0

    # Stop

    def stop(self) -> bool:
        """The order of exit: accept nothing new, cancel, let the engine drain and free on its own
        thread, end the desk, the HTTP loop, and the storage last.

        Returns whether every thread has ended. Stopping twice is harmless.
        """
        http, ended = self._stop_engine(_STOPPED)
        self.desk.stop()
        ended = _stop_http(http) and ended
        if self._stored and ended:
            self._mark_run(clean=True)
        ended = self._store.close(STORAGE_STOP_S) and ended
        self._stored = False
        self._instance.release()
        logger.info("stopped%s", "" if ended else ", but a thread did not end in time")
        return ended

    def _stop_engine(self, why: Health) -> tuple[HttpThread | None, bool]:
        """Accept nothing new and end the engine. The server, which still has to say so to its
        clients, and whether the engine has ended."""
        if self._http is not None:
            self._http.stop_accepting()
        with self._changing_engine:
            http, self._http = self._http, None
            ended = self._door.stop(ENGINE_STOP_S)
            self._door.take(why)
        return http, ended

    # Inside

    @property
    def _wanted_port(self) -> int:
        return self._preferences.port if self._settings.port is None else self._settings.port

    @property
    def _chosen_model(self) -> Path | None:
        return self._settings.model or self._preferences.model_folder

    @property
    def _model_id(self) -> str:
        folder = self._chosen_model
        return model_name(folder) if folder else catalog.STARTER_ID

    @property
    def _config(self) -> EngineConfig:
        return engine_config(self._settings, self._preferences)

    def _starter(self) -> Path:
        return catalog.starter_model_folder(self.paths.data)

    def _put_engine(self, folder: Path) -> None:
        """An engine for this model, started. Needs the lock."""
        assert self._dispatcher is not None
        assert self._metrics is not None
        make_engine = self._engine_factory or product_engine
        model_id = model_name(folder)
        engine = make_engine(
            folder,
            self._config,
            model_id=model_id,
            deliver=self._dispatcher.deliver,
            metrics=self._metrics,
        )
        engine.start()
        self._door.put(engine)
        logger.info("started with model %s", model_id)

    def _use_model(self, folder: Path | None) -> None:
        """Serve this model from now on (None: the starter). Raises EngineError; the model that
        serves now then goes on."""
        device.prepare()
        check_kv_budget(self._config.kv_budget_bytes)
        chosen = folder or self._starter()
        check_model_path(chosen)
        catalog.check_folder(chosen)
        with self._changing_engine:
            if self._http is None:
                raise EngineUnavailable(self._door.health.reason)
            # An engine that has given up waits for another folder; this may be the same, mended.
            if self._door.engine is None or self._door.health.state is EngineState.FAILED:
                self._door.stop(ENGINE_STOP_S)
                self._door.take(_PREPARING)
                self._put_engine(chosen)
            else:
                self._door.switch_model(chosen, model_name(chosen))
            self._settings = replace(self._settings, model=None)  # the newer word counts

    def _mark_run(self, *, clean: bool) -> None:
        """Note whether this run has come to its end. That is no reason not to run."""
        try:
            self._store.update_preferences(lambda now: replace(now, last_run_clean=clean)).result()
        except StorageError as error:
            logger.warning("the run could not be noted: %s", error)


def model_name(folder: Path) -> str:
    """The id under which a folder is served; a name that is not UTF-8 becomes one that is, as
    clients and Prometheus could not read it."""
    return os.fsencode(catalog.model_id_of(folder)).decode("utf-8", "replace")


def _stop_http(http: HttpThread | None) -> bool:
    return http is None or http.stop(HTTP_STOP_S)


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
