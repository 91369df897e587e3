"""Nothing that a client writes reaches a log (S13), nothing internal reaches a client (S14)."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster

from app.logs import start_logging, stop_logging
from engine.errors import EngineFailed, QueueFull, TemplateError
from engine.request import Failed, Text
from tests.support.house import CHAT, House, until

Chat = Callable[..., dict[str, object]]
MARKS = ("PROMPT_MARK", "ANSWER_MARK", "KEY_MARK", "PATH_MARK", "QUERY_MARK", "HEADER_MARK")


@pytest.fixture
def log_file(tmp_path: Path, loop_never_blocks: BlockBuster) -> Iterator[Path]:
    """A log at the most talkative level, of every library in the process."""
    loop_never_blocks.deactivate()
    before = logging.getLogger().level
    handler = start_logging(tmp_path / "ondol.log", logging.DEBUG)
    yield tmp_path / "ondol.log"
    stop_logging(handler)
    logging.getLogger().setLevel(before)


async def test_no_mark_reaches_log_or_stdout_and_no_secret_a_client(
    house: House,
    chat: Chat,
    log_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    asyncio.get_running_loop().set_debug(True)
    headers = {"Authorization": "Bearer KEY_MARK", "User-Agent": "HEADER_MARK"}
    body = chat(messages=[{"role": "user", "content": "PROMPT_MARK"}], PROMPT_MARK=1)
    house.engine.answer = ("ANSWER_MARK",)
    answers: list[str] = []

    async def post(**fields: object) -> None:
        response = await house.client.post(
            CHAT + "?q=QUERY_MARK", json=body | fields, headers=headers
        )
        answers.append(await response.text())

    await post()
    await post(stream=True)
    await post(model="PATH_MARK")
    await post(temperature="PROMPT_MARK")
    await post(stop="PROMPT_MARK" * 99)
    for error in (QueueFull("Full.", 1), EngineFailed("Broken.")):
        house.engine.submit_error = error
        await post()
    house.engine.submit_error = None
    house.engine.format_error = TemplateError("Refused.")
    await post()
    house.engine.format_error = None
    for data in (b"PROMPT_MARK", b'{"PROMPT_MARK"'):
        json_type = headers | {"Content-Type": "application/json"}
        response = await house.client.post(CHAT, data=data, headers=json_type)
        answers.append(await response.text())
    for path in ("/PATH_MARK?QUERY_MARK=1", "/v1/models/PATH_MARK", "/health?key=KEY_MARK"):
        response = await house.client.get(path, headers=headers)
        answers.append(await response.text())
    for bad in ({"Host": "HEADER_MARK"}, {"Origin": "https://HEADER_MARK"}):
        await house.client.get("/health", headers=bad)

    reader, writer = await asyncio.open_connection(house.client.host, house.client.port)
    writer.write(b"PROMPT_MARK KEY_MARK nonsense\r\n\r\n")
    answers.append((await reader.read()).decode())
    writer.close()

    def bug(*_args: object) -> None:
        raise RuntimeError("PROMPT_MARK in /home/someone/engine.py")

    monkeypatch.setattr(house.engine, "format", bug)
    await post()
    monkeypatch.undo()

    house.engine.answer = None
    sent = asyncio.create_task(house.client.post(CHAT, json=body, headers=headers))
    await until(lambda: bool(house.engine.live))
    (request_id,) = house.engine.live
    house.engine.emit(request_id, Text(request_id, "ANSWER_MARK", 1))
    house.engine.emit(request_id, Failed(request_id, EngineFailed("Broken.")))
    answers.append(await (await sent).text())

    log = await asyncio.to_thread(log_file.read_text)
    printed = capfd.readouterr()
    for mark in MARKS:
        assert mark not in log
        assert mark not in printed.out + printed.err
    assert "RuntimeError at " in log
    assert "POST /v1/chat/completions 200" in log
    assert "GET /v1/models/{model_id} 404" in log
    assert "prompt=12 cached=3 out=1" in log
    for answer in answers:
        for secret in ("Traceback", "/home", ".py", "RuntimeError", "site-packages"):
            assert secret not in answer


def test_the_log_is_its_owner_s_alone(log_file: Path) -> None:
    assert log_file.stat().st_mode & 0o777 == 0o600


def test_other_libraries_messages_are_withheld(log_file: Path) -> None:
    logging.getLogger("asyncio").warning("Executing %s took long", "PROMPT_MARK")
    logging.getLogger("app.server.chat").info("chatcmpl-1 prompt=%d", 7)
    text = log_file.read_text()
    assert "PROMPT_MARK" not in text
    assert "WARNING MainThread asyncio (message withheld) test_server_leaks:" in text
    assert "INFO    MainThread app.server.chat chatcmpl-1 prompt=7" in text


def test_exceptions_keep_their_places_and_lose_their_messages(log_file: Path) -> None:
    try:
        try:
            int("PROMPT_MARK")
        except ValueError as error:
            raise KeyError("KEY_MARK") from error
    except KeyError:
        # A record that another handler has formatted before carries the full text with it.
        logger = logging.getLogger("app.test")
        record = logger.makeRecord("app.test", 40, "f.py", 1, "failed", (), None)
        record.exc_info = sys.exc_info()
        logging.Formatter().format(record)
        logger.handle(record)
    text = log_file.read_text()
    assert "KeyError at test_server_leaks.py" in text
    assert "ValueError at test_server_leaks.py" in text
    assert "MARK" not in text
