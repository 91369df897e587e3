"""A household that asks, leaves, cancels and pins at random over real connections, and what it
heard. Whoever got a whole answer must have got the one that a single run gives."""

from __future__ import annotations

import contextlib
import enum
import http.client
import itertools
import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx

from app.desk import Desk
from app.home import Home
from app.storage.content import TemplateKind
from engine.errors import PinRefused, UnknownRequest
from engine.prompt.chat import Message
from tests.support.house import CHAT

PINS = 3

_ANSWER_LIMIT_S = 300.0  # a long answer in company, on a busy machine
_MORE_S = 120.0
_HOT_S = 0.4  # everybody may ask the same within this time, so that requests meet


@dataclass(frozen=True, slots=True)
class Question:
    """A chat, and the most tokens of its answer."""

    messages: tuple[Mapping[str, str], ...]
    max_tokens: int

    @property
    def chat(self) -> list[Message]:
        """As the engine takes it."""
        return [Message(each["role"], each["content"]) for each in self.messages]


class End(enum.Enum):
    """How a request ended for its client."""

    ANSWERED = "answered"
    LEFT = "left"  # by the client, in the middle
    CANCELLED = "cancelled"
    OVERDUE = "overdue"


class Way(enum.Enum):
    """What a client does with its request."""

    STREAM = "stream"
    WHOLE = "whole"
    LEAVE = "leave"
    CANCEL = "cancel"
    HURRY = "hurry"


_WEIGHTS = (40, 25, 15, 10, 10)  # per cent, of the ways in order
# Every way at once, and so many who stay to the end that they do not fit together.
_RUSH = (*(Way.STREAM, Way.WHOLE) * 2, Way.STREAM, Way.LEAVE, Way.CANCEL, Way.HURRY)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a client heard of a question, by its place among all questions."""

    place: int
    end: End
    text: str = ""
    reason: str = ""


def questions(
    words: Sequence[str], sizes: Sequence[int], answers: Sequence[int]
) -> tuple[Question, ...]:
    """Documents of so many words, each with several questions that overlap to the middle of the
    last one, and a conversation on each that grows. `answers` are the tokens that answers take, in
    turn. The documents come first in `messages`, as system turns."""
    chance = random.Random(4417)
    tokens = itertools.cycle(answers)

    def text(count: int) -> str:
        return " ".join(chance.choices(words, k=count))

    found: list[Question] = []
    for size in sizes:
        system = {"role": "system", "content": text(size)}
        opening = text(size // 4)
        for _ in range(3):
            asked = {"role": "user", "content": f"{opening} {text(6)}"}
            found.append(Question((system, asked), next(tokens)))
        turns: tuple[Mapping[str, str], ...] = (system, {"role": "user", "content": text(8)})
        for _ in range(3):
            found.append(Question(turns, next(tokens)))
            turns = (
                *turns,
                {"role": "assistant", "content": text(12)},
                {"role": "user", "content": text(8)},
            )
    return tuple(found)


class Household:
    """Eight clients on one Ondol. `heard` has what they heard, `failures` what must not be."""

    def __init__(self, home: Home, asked: Sequence[Question], seed: int) -> None:
        self.heard: list[Heard] = []
        self.failures: list[str] = []
        self._home = home
        self._asked = asked
        self._seed = seed
        self._lock = threading.Lock()

    def live(self, seconds: float, rush: int, happened: Callable[[], bool]) -> None:
        """Everybody asks for so long, and until what should happen has happened, at most
        `_MORE_S` longer; meanwhile somebody pins and unpins. It begins with a rush: all ask the
        question at that place at once."""
        until = time.monotonic() + seconds

        def over() -> bool:
            now = time.monotonic()
            return now > until and (happened() or now > until + _MORE_S)

        with ThreadPoolExecutor(len(_RUSH) + 1) as threads:
            lives = [
                threads.submit(self._person, number, rush, over) for number in range(len(_RUSH))
            ]
            lives.append(threads.submit(self._pins, over))
            for life in lives:
                life.result()

    def _person(self, number: int, rush: int, over: Callable[[], bool]) -> None:
        chance = random.Random(f"{self._seed} {number}")
        place, way = rush, _RUSH[number]
        while True:
            try:
                heard = self._ask(place, way, chance)
            except Exception as error:
                with self._lock:
                    self.failures.append(f"question {place}, {way.value}: {error!r}")
                return
            with self._lock:
                self.heard.append(heard)
            if over():
                return
            hot = int(time.monotonic() / _HOT_S) % len(self._asked)
            place = hot if chance.random() < 0.4 else chance.randrange(len(self._asked))
            (way,) = chance.choices(list(Way), _WEIGHTS)

    def _ask(self, place: int, way: Way, chance: random.Random) -> Heard:
        headers = {"X-Ondol-Priority": chance.choice(["interactive", "interactive", "background"])}
        if chance.random() < 0.2:
            headers["X-Ondol-TTFT-Target"] = "0.5"
        match way:
            case Way.STREAM:
                return self._stream(place, headers)
            case Way.WHOLE:
                return self._whole(place, headers)
            case Way.LEAVE:
                return self._stream(place, headers, leave_after=chance.choice([0, 0, 1, 3, 9]))
            case Way.CANCEL:
                return self._stream(place, headers, cancel_after=chance.choice([0, 1, 4]))
            case Way.HURRY:
                headers["X-Ondol-Deadline"] = f"{chance.uniform(0.005, 0.3):.3f}"
                whole = chance.random() < 0.5
                return self._whole(place, headers) if whole else self._stream(place, headers)

    def _pins(self, over: Callable[[], bool]) -> None:
        """Documents are pinned and let go; the first one stays pinned at the end."""
        desk, chance = self._home.desk, random.Random(self._seed)
        contents = dict.fromkeys(each.messages[0]["content"] for each in self._asked)
        ids = [
            desk.create_template(f"Document {at}", TemplateKind.DOCUMENT, content).result().id
            for at, content in enumerate(itertools.islice(contents, PINS))
        ]
        while not over():
            template_id = chance.choice(ids)
            with _pinned(desk, template_id):
                time.sleep(chance.uniform(0.05, 0.5))
        desk.pin(ids[0]).result()

    # One request

    def _stream(
        self,
        place: int,
        headers: Mapping[str, str],
        *,
        leave_after: int | None = None,
        cancel_after: int | None = None,
    ) -> Heard:
        """`leave_after` and `cancel_after` are pieces of text."""
        answer = _Streamed()
        with self._sent(place, headers, stream=True) as response:
            for line in response:
                if not line.startswith(b"data: {"):
                    continue
                event = json.loads(line.removeprefix(b"data: "))
                if "error" in event:
                    return Heard(place, _early_end(event["error"]["code"]))
                answer.take(event)
                if answer.num_pieces == cancel_after:
                    cancel_after = None
                    with contextlib.suppress(UnknownRequest):
                        self._home.engine.cancel(event["id"])
                if answer.num_pieces == leave_after:
                    return Heard(place, End.LEFT)
        if not answer.reason:
            raise AssertionError("a stream ended without a reason")
        return Heard(place, End.ANSWERED, "".join(answer.texts), answer.reason)

    def _whole(self, place: int, headers: Mapping[str, str]) -> Heard:
        with self._sent(place, headers, stream=False) as response:
            body = json.loads(response.read())
        if "error" in body:
            return Heard(place, _early_end(body["error"]["code"]))
        (choice,) = body["choices"]
        text = choice["message"]["content"]
        return Heard(place, End.ANSWERED, text, choice["finish_reason"])

    @contextlib.contextmanager
    def _sent(
        self, place: int, headers: Mapping[str, str], *, stream: bool
    ) -> Iterator[http.client.HTTPResponse]:
        """A request on a connection of its own, which ends with the block."""
        question = self._asked[place]
        body = {
            "messages": list(question.messages),
            "max_tokens": question.max_tokens,
            "temperature": 0,
            "stream": stream,
        }
        host, port = self._home.url.removeprefix("http://").rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=_ANSWER_LIMIT_S)
        try:
            named = {"Content-Type": "application/json", "User-Agent": f"client-{place % 4}"}
            connection.request("POST", CHAT, json.dumps(body), {**named, **headers})
            response = connection.getresponse()
            with response:
                yield response
        finally:
            connection.close()


@dataclass(slots=True)
class _Streamed:
    texts: list[str] = field(default_factory=list)
    num_pieces: int = 0
    reason: str = ""

    def take(self, event: Mapping[str, Any]) -> None:
        for choice in event["choices"]:
            text = choice["delta"].get("content") or ""
            self.texts.append(text)
            self.num_pieces += bool(text)
            self.reason = choice["finish_reason"] or self.reason


def _early_end(code: str) -> End:
    return {"request_aborted": End.CANCELLED, "deadline_passed": End.OVERDUE}[code]


@contextlib.contextmanager
def _pinned(desk: Desk, template_id: int) -> Iterator[None]:
    try:
        desk.pin(template_id).result()
    except PinRefused:
        yield
        return
    yield
    desk.unpin(template_id).result()


class MemoryWatch:
    """Looks at this process's memory until the block ends: all of it, and what MLX has of it, in
    bytes."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory-watch")
        self.resident: list[int] = []
        self.mlx: list[int] = []

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._every_s):
            self.resident.append(resident_bytes())
            self.mlx.append(mx.get_active_memory() + mx.get_cache_memory())


def growth(samples: Sequence[int]) -> int:
    """By how much the last third lies above the one before, in the middle of each."""
    third = len(samples) // 3
    before, after = sorted(samples[third : 2 * third]), sorted(samples[2 * third :])
    return after[len(after) // 2] - before[len(before) // 2]


def resident_bytes() -> int:
    """Memory that this process has now."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    told = subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())], text=True)
    return int(told) * 1024
