"""`ondol doctor`: what is there, what it allows, and what is wrong, for a person to read.

Every finding stands alone: one that cannot be made says so in its place and ends nothing.
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from app.budget import KvBudgetTooLarge, check_kv_budget
from app.console import say
from app.engine_config import engine_config
from app.home import EngineFactory, model_name, product_engine
from app.instance import Holder, find_holder
from app.model_import import check_model_path
from app.packages import installed_versions
from app.paths import Paths, find_paths
from app.ports import EnginePort
from app.settings import Settings, format_size, format_url
from app.storage import settings_store
from app.storage.migrations import MIGRATIONS
from app.storage.settings_store import Preferences
from app.storage.store import FILE_NAME
from engine.config import EngineConfig
from engine.errors import EngineError, TemplateError
from engine.metrics import EngineMetrics
from engine.model import catalog, device
from engine.model.info import ModelInfo
from engine.prompt.chat import Message

LOAD_LIMIT_S = 600.0
LEAST_DISK_BYTES = 16 * 1024 * 1024
LEAST_TOKENS = 256  # KV is allocated in steps of this many tokens

_INDENT = 10

Finding = tuple[str, str]


def doctor(
    settings: Settings, load: bool = True, engine_factory: EngineFactory | None = None
) -> int:
    """Print the findings. Returns 0 when Ondol can serve with these settings, else 1.

    With `load` the model is loaded to find out how its requests can share KV, unless an Ondol has
    it in memory already: two copies may not fit.
    """
    # Library records would otherwise be printed between the findings.
    logging.getLogger().addHandler(logging.NullHandler())
    paths = find_paths(settings.data_dir)
    examination = _Examination(settings, paths, load, engine_factory or product_engine)
    for section in examination.sections():
        for name, text in _guarded(section):
            say(f"{name:<{_INDENT}}{text}")
    say("")
    say("Ondol can serve." if not examination.problems else "Problems:")
    for problem in examination.problems:
        say(f"  - {problem}")
    return 1 if examination.problems else 0


class _Examination:
    """One run of the doctor: the sections in order, the problems they found."""

    def __init__(
        self, settings: Settings, paths: Paths, load: bool, engine_factory: EngineFactory
    ) -> None:
        self.problems: list[str] = []
        self._settings = settings
        self._paths = paths
        self._load = load
        self._engine_factory = engine_factory
        self._preferences = Preferences()
        self._weights_bytes = 0
        self._info: ModelInfo | None = None

    def sections(self) -> tuple[Callable[[], Iterator[Finding]], ...]:
        return (
            self._versions,
            self._device,
            self._folders,
            self._database,
            self._server,
            self._model,
            self._budgets,
        )

    def _versions(self) -> Iterator[Finding]:
        versions = [f"{name} {version}" for name, version in installed_versions()]
        yield "versions", ", ".join(versions)
        yield "", f"Python {platform.python_version()} on {platform.platform()}"

    def _device(self) -> Iterator[Finding]:
        info = device.describe()
        yield "device", f"{info.kind}: {info.name}, {format_size(info.memory_bytes)}"
        if info.blas:
            yield "BLAS", f"{info.blas}, threads: {info.blas_threads}"
        for warning in info.warnings:
            yield "", f"warning: {warning}"

    def _folders(self) -> Iterator[Finding]:
        paths = self._paths
        for name, folder in (("data", paths.data), ("models", paths.models), ("logs", paths.logs)):
            yield name, f"{folder}{'' if folder.exists() else ' (not made yet)'}"
            if obstacle := _unwritable(folder):
                self.problems.append(f"Ondol cannot write to {folder}: {obstacle}.")
        for file in (paths.data / FILE_NAME, paths.log_file):
            if file.exists() and not os.access(file, os.W_OK):
                self.problems.append(f"Ondol cannot write to {file}.")
        disk = shutil.disk_usage(_nearest_existing(self._paths.data))
        yield "disk", f"{format_size(disk.free)} free"
        if disk.free < LEAST_DISK_BYTES:
            self.problems.append(f"The disk that holds {paths.data} is nearly full.")

    def _server(self) -> Iterator[Finding]:
        holder = find_holder(self._paths.data)
        if isinstance(holder, Holder):
            url = format_url(holder.host, holder.port)
            yield "server", f"running: process {holder.pid}, {url}"
        else:
            given = self._settings.port
            port = self._preferences.port if given is None else given
            url = format_url(self._settings.host, port)
            yield "server", f"not running; would listen on {url}"

    @property
    def _folder(self) -> Path:
        chosen = self._settings.model or self._preferences.model_folder
        return chosen or self._paths.models / catalog.STARTER_ID

    @property
    def _is_starter(self) -> bool:
        return self._settings.model is None and self._preferences.model_folder is None

    @property
    def _config(self) -> EngineConfig:
        return engine_config(self._settings, self._preferences)

    def _database(self) -> Iterator[Finding]:
        """What was chosen in the window; the command line counts more. Nothing is written."""
        path = self._paths.data / FILE_NAME
        if not path.exists():
            return
        try:
            version, self._preferences = _read_preferences(path)
        except sqlite3.Error as error:
            self.problems.append(f"The database {path} cannot be read: {error}.")
            return
        if version > len(MIGRATIONS):
            self.problems.append(f"{FILE_NAME} was written by a newer Ondol.")
        yield "settings", f"format {version}, last run ended {_how(self._preferences)}"

    def _model(self) -> Iterator[Finding]:
        yield "model", f"{model_name(self._folder)} in {self._folder}"
        if self._settings.model is None and not self._is_starter:
            yield "", "as chosen in the window"
        if self._is_starter and not self._folder.exists():
            yield "", "not imported yet: the first start does it"
            return
        try:
            check_model_path(self._folder)
            catalog.check_folder(self._folder)
        except EngineError as error:
            self.problems.append(f"The model cannot be used: {error}")
            return
        weights = self._folder.glob("model*.safetensors")
        self._weights_bytes = sum(file.stat().st_size for file in weights)
        yield "", f"its files are sound; weights {format_size(self._weights_bytes)}"
        if not self._load:
            yield "", "not loaded; without --no-load the doctor also says what its layers allow"
        elif find_holder(self._paths.data) is not None:
            yield "", "not loaded here: the running Ondol has it in memory"
        elif self._weights_bytes > device.total_memory_bytes():
            self.problems.append("The weights are larger than the memory of this machine.")
        else:
            yield from self._loaded_model()

    def _loaded_model(self) -> Iterator[Finding]:
        model_id = model_name(self._folder)
        engine = self._engine_factory(
            self._folder,
            self._config,
            model_id=model_id,
            deliver=lambda _events: None,
            metrics=EngineMetrics(model_id),
        )
        engine.start()
        try:
            health = engine.wait_until_ready(LOAD_LIMIT_S)
            self._info = info = engine.model
            if health.ok:
                self._try_template(engine)
        finally:
            engine.stop()
        if not health.ok or info is None:
            self.problems.append(f"The model cannot be loaded: {health.reason}")
            return
        yield "", f"{info.architecture}, {info.dtype}, quantisation: {info.quantization or 'none'}"
        yield "layers", info.layers
        reason = f" ({info.attention_reason})" if info.attention_reason else ""
        yield "", f"KV of running requests: {info.attention.value}{reason}"
        each = format_size(info.bytes_per_token)
        yield "context", f"{info.context_window} tokens, {each} of KV each"

    def _try_template(self, engine: EnginePort) -> None:
        """A model without a sound chat template loads, and then answers no chat."""
        try:
            engine.format([Message("user", "Hello")])
        except TemplateError as error:
            self.problems.append(f"No chat can be answered: {error}")

    def _budgets(self) -> Iterator[Finding]:
        config = self._config
        budget = config.kv_budget_bytes or device.default_kv_budget(self._weights_bytes)
        cost = self._info.cost if self._info and self._info.bytes_per_token else None
        tokens = f", room for {cost.tokens_within(budget)} tokens" if cost else ""
        yield "budgets", f"KV {format_size(budget)}{tokens}"
        if cost and cost.tokens_within(budget) <= LEAST_TOKENS:
            self.problems.append(
                f"The KV budget of {format_size(budget)} leaves no room for a request: more than"
                f" {format_size(cost.append_bytes(LEAST_TOKENS))} are needed ({LEAST_TOKENS}"
                " tokens)."
            )
        try:
            check_kv_budget(config.kv_budget_bytes)
        except KvBudgetTooLarge as error:
            self.problems.append(str(error))
        yield "", f"pins at most {format_size(int(budget * config.max_pin_share))} of it"
        yield "", f"at most {config.max_running} requests run, {config.max_queue} more may wait"
        yield "", f"admission: {config.admission.value}"


def _guarded(section: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from section()
    except EngineError as error:
        yield "", f"not found out: {error}"
    except Exception as error:
        yield "", f"not found out ({type(error).__name__})"


def _how(preferences: Preferences) -> str:
    return "well" if preferences.last_run_clean else "badly, or it still runs"


def _read_preferences(path: Path) -> tuple[int, Preferences]:
    """Format and preferences of a database that another process may be using. Raises
    sqlite3.Error."""
    from sqlite_utils import Database

    log = path.with_name(path.name + "-wal")
    # Without a log `immutable` keeps SQLite from making one to read through.
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{mode}"
    with closing(sqlite3.connect(uri, uri=True)) as reader:
        version = int(reader.execute("PRAGMA user_version").fetchone()[0])
        return version, settings_store.load(Database(reader, execute_plugins=False))


def _unwritable(folder: Path) -> str:
    """Why Ondol could not make files in this folder; empty where it can."""
    nearest = _nearest_existing(folder)
    if not nearest.is_dir():
        return f"{nearest} is no folder"
    if nearest != folder:
        return "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} is not writable"
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return os.strerror(error.errno) if error.errno else type(error).__name__


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
