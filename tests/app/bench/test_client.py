"""What the stopwatch stops at, and what ends a bench."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import app.bench.client
from app.bench.client import Answer, read_answer
from app.bench.errors import BenchError, EmptyAnswer

USAGE = {
    "prompt_tokens": 250,
    "prompt_tokens_details": {"cached_tokens": 234},
    "completion_tokens": 3,
}


def event(**fields: object) -> bytes:
    return b"data: " + json.dumps({"choices": []} | fields).encode() + b"\n"


def delta(content: str | None) -> bytes:
    return event(choices=[{"index": 0, "delta": {"content": content}}])


class Clock:
    """Stands where the test puts it."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(app.bench.client, "time", clock)
    return clock


def test_the_clock_stops_at_the_first_text(clock: Clock) -> None:
    def lines() -> Iterator[bytes]:
        clock.now = 11.0
        yield delta("")
        yield b": keepalive 64/250\n"
        yield b"\n"
        yield delta(None)
        clock.now = 12.5
        yield delta("War")
        clock.now = 14.0
        yield delta("m")
        yield event(choices=[{"index": 0, "delta": {}}])
        yield event(usage=USAGE)
        yield b"data: [DONE]\n"

    assert read_answer(lines(), started=10.0) == Answer(2.5, 250, 234, 3, "Warm")


def test_an_answer_without_a_word_has_no_first_token() -> None:
    with pytest.raises(EmptyAnswer):
        read_answer([delta(""), event(usage=USAGE)], started=0.0)


def test_an_answer_without_usage_is_useless() -> None:
    with pytest.raises(BenchError, match="without its usage"):
        read_answer([delta("Warm")], started=0.0)


def test_an_error_in_a_stream_ends_the_bench_in_its_words() -> None:
    error = b'data: {"error": {"message": "The engine stopped."}}\n'
    with pytest.raises(BenchError, match=r"The engine stopped\."):
        read_answer([delta(""), error], started=0.0)
