"""What someone who helps needs to know, as a text to paste: figures and names, nobody's words.

No prompt, answer or key can be in it: it is made of the engine's figures, the settings and the log,
and the log has none of these.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from app.packages import installed_versions
from app.paths import Paths
from app.settings import format_size
from app.storage.settings_store import Preferences
from engine.model import device
from engine.model.info import ModelInfo
from engine.snapshot import Memory, Snapshot

LOG_LINES = 200

_LOG_TAIL_BYTES = 128 * 1024

Line = tuple[str, str]


def diagnose(
    snapshot: Snapshot,
    model: ModelInfo | None,
    preferences: Preferences | None,
    paths: Paths,
    *,
    url: str,
    storage_trouble: BaseException | None = None,
) -> str:
    """The report. Reads the log, so it takes milliseconds; fails never, whatever is missing."""
    sections: tuple[tuple[str, Callable[[], Iterator[Line]]], ...] = (
        ("Versions", _versions),
        ("Device", _device),
        ("Model", lambda: _model(model)),
        ("Engine", lambda: _engine(snapshot)),
        ("Memory", lambda: _memory(snapshot.memory, model)),
        ("Settings", lambda: _settings(preferences, url)),
        ("Folders", lambda: _folders(paths, storage_trouble)),
    )
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    lines = [f"Ondol diagnostics, {made_at}"]
    for title, section in sections:
        lines += ["", title]
        lines += [f"  {name:<26}{value}".rstrip() for name, value in _guarded(section)]
    lines += ["", f"Last {LOG_LINES} lines of the log", *_log_tail(paths.log_file)]
    return shorten_home("\n".join(lines) + "\n", Path.home())


def shorten_home(text: str, home: Path) -> str:
    """The home folder, which has somebody's name in it, as ~."""
    if home == Path(home.anchor):
        return text
    return re.sub(re.escape(str(home)) + r"(?![\w-]|\.\w)", "~", text)


def _versions() -> Iterator[Line]:
    yield from installed_versions()
    yield "Python", platform.python_version()
    yield "system", platform.platform()


def _device() -> Iterator[Line]:
    if "mlx.core" not in sys.modules:
        yield "", "not known before a model was loaded"
        return
    info = device.describe()
    yield "kind", f"{info.kind}, {info.name}"
    yield "memory", format_size(info.memory_bytes)
    if info.blas:
        yield "matrix library", f"{info.blas}, threads: {info.blas_threads}"
    for warning in info.warnings:
        yield "warning", warning


def _model(model: ModelInfo | None) -> Iterator[Line]:
    if model is None:
        yield "", "none is loaded"
        return
    yield "id", model.id
    yield "architecture", f"{model.architecture}, {model.layers}"
    yield "weights", f"{format_size(model.weights_bytes)}, {model.dtype}"
    yield "quantisation", model.quantization or "none"
    yield "context window", f"{model.context_window} tokens"
    yield "KV of a token", f"{model.bytes_per_token} bytes"
    reason = f" ({model.attention_reason})" if model.attention_reason else ""
    yield "attention", f"{model.attention.value}{reason}"
    yield "fingerprint", model.fingerprint


def _engine(snapshot: Snapshot) -> Iterator[Line]:
    yield "state", f"{snapshot.state.value}{', paused' if snapshot.paused else ''}"
    if snapshot.reason:
        yield "reason", snapshot.reason
    yield "requests", f"{snapshot.num_running} running, {snapshot.num_waiting} waiting"
    yield "cache", f"{snapshot.num_pages} pages in {snapshot.num_parts} parts"
    states = Counter(pin.state.value for pin in snapshot.pins)
    yield "pins", ", ".join(f"{number} {state}" for state, number in states.items()) or "none"
    for field in fields(snapshot.totals):
        yield f"total {field.name}", str(getattr(snapshot.totals, field.name))


def _memory(memory: Memory, model: ModelInfo | None) -> Iterator[Line]:
    room = ""
    if model is not None and model.bytes_per_token:
        room = f", room for {model.cost.tokens_within(memory.budget)} tokens"
    yield "KV budget", f"{format_size(memory.budget)}{room}"
    for name in ("running", "resident", "pinned", "reserved", "free"):
        yield name, format_size(getattr(memory, name))


def _settings(preferences: Preferences | None, url: str) -> Iterator[Line]:
    yield "address", url
    if preferences is None:
        yield "", "cannot be read"
        return
    for field in fields(preferences):
        value = getattr(preferences, field.name)
        yield field.name, str(getattr(value, "value", value))


def _folders(paths: Paths, storage_trouble: BaseException | None) -> Iterator[Line]:
    yield "data", str(paths.data)
    yield "logs", str(paths.logs)
    if storage_trouble is not None:
        yield "trouble", f"{type(storage_trouble).__name__}: {storage_trouble}"
    free = os.statvfs(paths.data)
    yield "free disk", format_size(free.f_bavail * free.f_frsize)


def _guarded(section: Callable[[], Iterator[Line]]) -> Iterator[Line]:
    """A report with a hole in it still helps."""
    try:
        yield from section()
    except Exception as error:
        yield "", f"cannot be found out ({type(error).__name__})"


def _log_tail(log_file: Path) -> list[str]:
    try:
        with log_file.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG_TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return [f"cannot be read: {error.strerror}"]
    if size > _LOG_TAIL_BYTES:
        lines = lines[1:]  # the first one is a part of a line
    return lines[-LOG_LINES:] or ["empty"]
