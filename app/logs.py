"""The log file: ids, sizes and times, never what anyone wrote (S13), at any level.

Ondol's own loggers are trusted to follow that rule. Records of other libraries are not: their
messages may quote a request, so only their origin and level are written. Exceptions lose their
message for the same reason and keep their type and the places they passed.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import math
import traceback
from pathlib import Path
from types import TracebackType

LOG_BYTES = 4 * 1024 * 1024
LOG_BACKUPS = 3
REPEAT_S = 60.0

_OWN_LOGGERS = ("app", "engine", "ondol")
_LEFT_OUT = "ondol_left_out"
_FORMAT = "%(asctime)s %(levelname)-7s %(threadName)s %(name)s %(message)s"

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class BodilessFormatter(logging.Formatter):
    """Writes nothing that a client could have put into a record."""

    def format(self, record: logging.LogRecord) -> str:
        """Of other libraries only the place, and how often it was heard since the last line."""
        # A copy, so that text another handler cached in the record cannot slip in.
        bare = logging.LogRecord(
            record.name, record.levelno, record.pathname, record.lineno, record.msg, record.args,
            record.exc_info,
        )  # fmt: skip
        bare.threadName, bare.created, bare.msecs = record.threadName, record.created, record.msecs
        if not _is_own(record):
            bare.msg, bare.args = f"(message withheld) {record.module}:{record.lineno}", None
            if left_out := getattr(record, _LEFT_OUT, 0):
                bare.msg += f" ({left_out} more before)"
        return super().format(bare)

    def formatException(self, ei: _ExcInfo) -> str:
        lines: list[str] = []
        error, seen = ei[1], set[int]()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            places = " < ".join(
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
                for frame in reversed(traceback.extract_tb(error.__traceback__))
            )
            lines.append(f"  {type(error).__name__} at {places}")
            error = error.__cause__ or error.__context__
        return "\n".join(lines)


class RareFilter(logging.Filter):
    """Lets one place in another library through once a minute, and once for each error at each
    place: what a client provokes a thousand times a second must not push everything else out of
    the file."""

    def __init__(self, every_s: float = REPEAT_S) -> None:
        super().__init__()
        self._every_s = every_s
        self._seen: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if _is_own(record):
            return True
        place = (record.name, record.pathname, record.lineno, *_error_of(record))
        last, left_out = self._seen.get(place, (-math.inf, 0))
        if record.created - last < self._every_s:
            self._seen[place] = (last, left_out + 1)
            return False
        self._seen[place] = (record.created, 0)
        setattr(record, _LEFT_OUT, left_out)
        return True


class _QuietHandler(logging.handlers.RotatingFileHandler):
    """A line that cannot be written, as on a full disk, is lost; the console has no use for it."""

    def handleError(self, record: logging.LogRecord) -> None:
        return


def _error_of(record: logging.LogRecord) -> tuple[object, ...]:
    """The class of the record's error and where it was raised: there are finitely many."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return ()
    raised = traceback.extract_tb(error.__traceback__)[-1:]
    return type(error), *((frame.filename, frame.lineno) for frame in raised)


def _is_own(record: logging.LogRecord) -> bool:
    return record.name.split(".", 1)[0] in _OWN_LOGGERS


def start_logging(log_file: Path, level: int = logging.INFO) -> logging.Handler:
    """Send every record of the process to a rotating file. Raises OSError."""
    handler = _QuietHandler(
        log_file,
        maxBytes=LOG_BYTES,
        backupCount=LOG_BACKUPS,
        encoding="utf-8",
        errors="backslashreplace",  # file names need not be UTF-8
    )
    handler.addFilter(RareFilter())
    log_file.chmod(0o600)
    handler.setFormatter(BodilessFormatter(_FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    return handler


def stop_logging(handler: logging.Handler) -> None:
    """Flush and close what `start_logging` opened. What does not fit on the disk is lost."""
    logging.getLogger().removeHandler(handler)
    with contextlib.suppress(OSError):
        handler.close()
