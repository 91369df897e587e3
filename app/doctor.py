"""`ondol doctor`: what is there, what it allows, and what is wrong, for a person to read.

Every finding stands alone: one that cannot be made says so in its place and ends nothing.
"""

from __future__ import annotations

import logging
import platform
import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from app.console import say
from app.home import EngineFactory, product_engine
from app.instance import Holder, find_holder
from app.paths import Paths, find_paths
from app.settings import DEFAULT_PORT, Settings, format_size, format_url
from engine.config import EngineConfig
from engine.errors import EngineError
from engine.metrics import EngineMetrics
from engine.model import catalog, device
from engine.model.info import ModelInfo

LOAD_LIMIT_S = 600.0

_PACKAGES = ("ondol", "mlx", "mlx-lm", "tokenizers", "aiohttp")
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
        self._folder = settings.model or paths.models / catalog.STARTER_ID
        self._weights_bytes = 0
        self._info: ModelInfo | None = None

    def sections(self) -> tuple[Callable[[], Iterator[Finding]], ...]:
        return (
            self._versions,
            self._device,
            self._folders,
            self._server,
            self._model,
            self._budgets,
        )

    def _versions(self) -> Iterator[Finding]:
        yield "versions", ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
        yield "", f"Python {platform.python_version()} on {platform.platform()}"

    def _device(self) -> Iterator[Finding]:
        info = device.describe()
        yield "device", f"{info.kind}: {info.name}, {format_size(info.memory_bytes)}"
        if info.blas:
            yield "BLAS", f"{info.blas}, threads: {info.blas_threads}"
        for warning in info.warnings:
            yield "", f"warning: {warning}"

    def _folders(self) -> Iterator[Finding]:
        for name, folder in (("data", self._paths.data), ("logs", self._paths.logs)):
            yield name, f"{folder}{'' if folder.exists() else ' (not made yet)'}"
        disk = shutil.disk_usage(_nearest_existing(self._paths.data))
        yield "disk", f"{format_size(disk.free)} free"

    def _server(self) -> Iterator[Finding]:
        holder = find_holder(self._paths.data)
        if isinstance(holder, Holder):
            url = format_url(holder.host, holder.port)
            yield "server", f"running: process {holder.pid}, {url}"
        else:
            port = DEFAULT_PORT if self._settings.port is None else self._settings.port
            url = format_url(self._settings.host, port)
            yield "server", f"not running; would listen on {url}"

    def _model(self) -> Iterator[Finding]:
        yield "model", f"{catalog.model_id_of(self._folder)} in {self._folder}"
        if self._settings.model is None and not self._folder.exists():
            yield "", "not imported yet: the first start does it"
            return
        try:
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
        model_id = catalog.model_id_of(self._folder)
        engine = self._engine_factory(
            self._folder,
            EngineConfig(kv_budget_bytes=self._settings.kv_budget_bytes),
            model_id=model_id,
            deliver=lambda _events: None,
            metrics=EngineMetrics(model_id),
        )
        engine.start()
        try:
            health = engine.wait_until_ready(LOAD_LIMIT_S)
            self._info = info = engine.model
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

    def _budgets(self) -> Iterator[Finding]:
        config = EngineConfig(kv_budget_bytes=self._settings.kv_budget_bytes)
        budget = config.kv_budget_bytes or device.default_kv_budget(self._weights_bytes)
        each = self._info.bytes_per_token if self._info else 0
        tokens = f", room for {budget // each} tokens" if each else ""
        yield "budgets", f"KV {format_size(budget)}{tokens}"
        yield "", f"pins at most {format_size(int(budget * config.max_pin_share))} of it"
        yield "", f"{config.max_running} requests run, {config.max_queue} more may wait"


def _guarded(section: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from section()
    except EngineError as error:
        yield "", f"not found out: {error}"
    except Exception as error:
        yield "", f"not found out ({type(error).__name__})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
