"""The log file: ids, sizes and times, never what anyone wrote (S13), at any level.

Ondol's own loggers are trusted to follow that rule. Records of other libraries are not: their
messages may quote a request, so only their origin and level are written. Exceptions lose their
message for the same reason and keep their type and the places they passed.
"""

from __future__ import annotations

import logging
import logging.handlers
import traceback
from pathlib import Path
from types import TracebackType

LOG_BYTES = 4 * 1024 * 1024
LOG_BACKUPS = 3

_OWN_LOGGERS = ("app", "engine", "ondol")
_FORMAT = "%(asctime)s %(levelname)-7s %(threadName)s %(name)s %(message)s"

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class BodilessFormatter(logging.Formatter):
    """Writes nothing that a client could have put into a record."""

    def format(self, record: logging.LogRecord) -> str:
        # A copy, so that text another handler cached in the record cannot slip in.
        bare = logging.LogRecord(
            record.name, record.levelno, record.pathname, record.lineno, record.msg, record.args,
            record.exc_info,
        )  # fmt: skip
        bare.threadName, bare.created, bare.msecs = record.threadName, record.created, record.msecs
        if record.name.split(".", 1)[0] not in _OWN_LOGGERS:
            bare.msg, bare.args = f"(message withheld) {record.module}:{record.lineno}", None
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


def start_logging(log_file: Path, level: int = logging.INFO) -> logging.Handler:
    """Send every record of the process to a rotating file. Raises OSError."""
    handler = logging.handlers.RotatingFileHandler(
        log_file, maxBytes=LOG_BYTES, backupCount=LOG_BACKUPS, encoding="utf-8"
    )
    log_file.chmod(0o600)
    handler.setFormatter(BodilessFormatter(_FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    return handler


def stop_logging(handler: logging.Handler) -> None:
    """Flush and close what `start_logging` opened."""
    logging.getLogger().removeHandler(handler)
    handler.close()
