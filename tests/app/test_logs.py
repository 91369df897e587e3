"""The log file: quiet where it cannot be written, and nobody's flood pushes the rest out of it."""

from __future__ import annotations

import errno
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.logs import REPEAT_S, RareFilter, start_logging, stop_logging


@pytest.fixture
def handler(tmp_path: Path) -> Iterator[logging.Handler]:
    before = logging.getLogger().level
    handler = start_logging(tmp_path / "ondol.log")
    yield handler
    stop_logging(handler)
    logging.getLogger().setLevel(before)


class FullDisk:
    """A stream on a disk without room."""

    def write(self, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    flush = close = tell = seek = write


def test_a_full_disk_says_nothing_on_the_console(
    handler: logging.FileHandler, capfd: pytest.CaptureFixture[str]
) -> None:
    handler.stream.close()
    handler.stream = FullDisk()  # type: ignore[assignment]
    logging.getLogger("app.test").info("a line")
    stop_logging(handler)
    assert capfd.readouterr().err == ""


def test_names_that_are_no_utf8_are_written_all_the_same(
    handler: logging.Handler, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("app.test").info("model %s", b"caf\xe9".decode("utf-8", "surrogateescape"))
    handler.flush()
    assert "model caf\\udce9" in (tmp_path / "ondol.log").read_text(encoding="utf-8")
    assert capfd.readouterr().err == ""


def record(name: str, created: float, line: int = 7) -> logging.LogRecord:
    made = logging.LogRecord(name, logging.ERROR, "library.py", line, "flood", None, None)
    made.created = created
    return made


def test_one_place_of_a_library_is_heard_once_a_minute() -> None:
    rare = RareFilter()
    passed = [second for second in range(121) if rare.filter(record("asyncio", 1000.0 + second))]
    assert passed == [0, 60, 120]
    assert rare.filter(record("asyncio", 1001.0, line=8))
    assert rare.filter(record("aiohttp.server", 1001.0))


def raised(error: Exception) -> logging.LogRecord:
    made = record("asyncio", 1000.0)
    try:
        raise error
    except type(error):
        made.exc_info = sys.exc_info()
    return made


def test_another_error_at_the_same_place_is_heard() -> None:
    rare = RareFilter()
    errors = [OSError(), ValueError(), OSError()]
    assert [rare.filter(raised(error)) for error in errors] == [True, True, False]


def test_ondols_own_lines_are_all_there() -> None:
    rare = RareFilter()
    assert all(rare.filter(record("app.access", 1000.0)) for _ in range(100))


def test_how_many_were_left_out_is_said(handler: logging.Handler, tmp_path: Path) -> None:
    for second in (0.0, 1.0, 2.0, REPEAT_S):
        handler.handle(record("asyncio", 1000.0 + second))
    handler.flush()
    first, second_line = (tmp_path / "ondol.log").read_text(encoding="utf-8").splitlines()
    assert "more before" not in first
    assert second_line.endswith("(message withheld) library:7 (2 more before)")
