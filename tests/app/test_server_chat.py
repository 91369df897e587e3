"""Chat completions over HTTP: the order of events, the figures, leaving clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from app.server.keys import ServerOptions
from engine.errors import (
    DeadlinePassed,
    EngineError,
    EngineFailed,
    EngineUnavailable,
    PromptTooLong,
    QueueFull,
    TemplateError,
)
from engine.request import (
    Failed,
    FinishReason,
    Priority,
    Progress,
    SamplingParams,
    Started,
    Text,
)
from tests.support.house import CHAT, House, until
from tests.support.scripted_engine import MODEL, finished

Chat = Callable[..., dict[str, object]]


def data_of(stream: str) -> list[Any]:
    """The JSON of every event; the end marker as text."""
    lines = [line.removeprefix("data: ") for line in stream.split("\n") if line.startswith("data")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


async def next_line(response: aiohttp.ClientResponse) -> str:
    """The next line that is not empty; "" at the end of the stream."""
    async with asyncio.timeout(5):
        while (line := await response.content.readline()) == b"\n":
            pass
        return line.decode().rstrip("\n")


async def test_a_whole_answer(house: House, chat: Chat) -> None:
    response = await house.client.post(CHAT, json=chat())
    body = await response.json()
    assert response.status == 200
    assert response.headers["X-Request-Id"].startswith("req-")
    assert body["object"] == "chat.completion"
    assert body["id"] == response.headers["X-Request-Id"].replace("req-", "chatcmpl-")
    assert body["model"] == MODEL.id
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello"},
            "finish_reason": "stop",
        }
    ]
    assert body["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    assert body["timings"] == {
        "cache_n": 2,
        "prompt_n": 1,
        "prompt_ms": 2000.0,
        "prompt_per_second": 0.5,
        "predicted_n": 2,
        "predicted_ms": 4000.0,
        "predicted_per_second": 0.5,
    }


async def test_a_stream_comes_in_the_order_that_clients_expect(house: House, chat: Chat) -> None:
    fields = {"stream": True, "stream_options": {"include_usage": True}}
    response = await house.client.post(CHAT, json=chat(**fields))
    text = await response.text()
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-cache"
    *chunks, end = data_of(text)
    assert end == "[DONE]"
    assert text.endswith("data: [DONE]\n\n")
    assert [chunk["choices"] for chunk in chunks] == [
        [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
        [{"index": 0, "delta": {"content": "Hel"}, "finish_reason": None}],
        [{"index": 0, "delta": {"content": "lo"}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        [],
    ]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert len({chunk["created"] for chunk in chunks}) == 1
    assert [("usage" in chunk, "timings" in chunk) for chunk in chunks] == [
        *[(False, False)] * 4,
        (True, True),
    ]
    assert chunks[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 2


@pytest.mark.parametrize("stream_options", [None, {}, {"include_usage": False}])
async def test_usage_is_not_streamed_unasked(
    house: House, chat: Chat, stream_options: object
) -> None:
    """Server case 7."""
    body = chat(stream=True, stream_options=stream_options)
    *chunks, _end = data_of(await (await house.client.post(CHAT, json=body)).text())
    assert not any("usage" in chunk for chunk in chunks)
    assert all(len(chunk["choices"]) == 1 for chunk in chunks)
    assert chunks[-1]["timings"]["cache_n"] == 2


async def test_streamed_text_equals_the_whole_answer(house: House, chat: Chat) -> None:
    """Server case 3, with text that is hard on line readers."""
    house.engine.answer = ("a😀", "\u2028\x85\r\n", "온돌 \\ud83d \x1c", '"')
    whole = await (await house.client.post(CHAT, json=chat())).json()
    raw = await (await house.client.post(CHAT, json=chat(stream=True))).text()
    deltas = [chunk["choices"][0]["delta"].get("content", "") for chunk in data_of(raw)[:-1]]
    assert "".join(deltas) == whole["choices"][0]["message"]["content"]
    assert "".join(deltas) == "".join(house.engine.answer)
    assert "\u2028" not in raw
    assert "\x85" not in raw


async def test_headers_and_first_chunk_come_before_any_event(house: House, chat: Chat) -> None:
    house.engine.answer = None
    async with house.client.post(CHAT, json=chat(stream=True)) as response:
        assert response.status == 200
        first = json.loads((await next_line(response)).removeprefix("data: "))
        assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        (request,) = house.engine.submitted
        assert house.engine.live == {request.id}
        house.engine.emit(request.id, Text(request.id, "now", 1))
        assert '"now"' in await next_line(response)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PromptTooLong(900, 512), (400, "context_length_exceeded", "900 tokens > 512 tokens")),
        (QueueFull("Too many.", 7), (429, "rate_limit_exceeded", "Too many.")),
        (EngineUnavailable("It is being loaded."), (503, "engine_unavailable", "being loaded")),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_refusals_come_before_any_stream_byte(
    house: House, chat: Chat, error: EngineError, expected: tuple[int, str, str], stream: bool
) -> None:
    status, code, text = expected
    house.engine.submit_error = error
    response = await house.client.post(CHAT, json=chat(stream=stream))
    body = await response.json()
    assert response.status == status
    assert response.content_type == "application/json"
    assert body["error"]["code"] == code
    assert text in body["error"]["message"]
    assert response.headers.get("Retry-After") == {429: "7", 503: "5"}.get(status)
    house.engine.submit_error = None
    assert (await house.client.post(CHAT, json=chat())).status == 200


async def test_a_template_refusal_is_a_bad_request(house: House, chat: Chat) -> None:
    house.engine.format_error = TemplateError("Roles must alternate.")
    response = await house.client.post(CHAT, json=chat(stream=True))
    assert response.status == 400
    assert (await response.json())["error"] == {
        "message": "Roles must alternate.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "template_error",
    }
    assert not house.engine.submitted


@pytest.mark.parametrize("stream", [False, True])
async def test_an_engine_failure_in_mid_answer(house: House, chat: Chat, stream: bool) -> None:
    house.engine.answer = None
    sent = asyncio.create_task(house.client.post(CHAT, json=chat(stream=stream)))
    await until(lambda: bool(house.engine.submitted))
    (request,) = house.engine.submitted
    house.engine.emit(request.id, Text(request.id, "half an ans", 3))
    house.engine.emit(request.id, Failed(request.id, EngineFailed("The engine stopped working.")))
    response = await sent
    expected = {
        "error": {
            "message": "The engine stopped working.",
            "type": "server_error",
            "param": None,
            "code": "engine_failed",
        }
    }
    if stream:
        assert response.status == 200
        *_chunks, last = data_of(await response.text())
        assert last == expected
    else:
        assert response.status == 500
        assert await response.json() == expected
    assert house.engine.cancelled == []


@pytest.mark.parametrize("stream", [False, True])
async def test_an_abort_by_the_engine_is_an_error(house: House, chat: Chat, stream: bool) -> None:
    house.engine.reason = FinishReason.ABORT
    response = await house.client.post(CHAT, json=chat(stream=stream))
    if stream:
        assert data_of(await response.text())[-1]["error"]["code"] == "request_aborted"
    else:
        assert response.status == 503
        assert (await response.json())["error"]["code"] == "request_aborted"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_cancels(house: House, chat: Chat, stream: bool) -> None:
    house.engine.answer = None
    sent = asyncio.create_task(house.client.post(CHAT, json=chat(stream=stream)))
    await until(lambda: bool(house.engine.submitted))
    (request,) = house.engine.submitted
    if stream:
        response = await sent
        await next_line(response)
        response.close()
    else:
        sent.cancel()
    await until(lambda: bool(house.engine.cancelled))
    assert house.engine.cancelled == [request.id]
    assert house.engine.live == set()


async def test_a_client_that_leaves_while_text_flows_cancels(house: House, chat: Chat) -> None:
    house.engine.answer = None
    response = await house.client.post(CHAT, json=chat(stream=True))
    (request,) = house.engine.submitted
    response.close()
    for count in range(1, 200):
        if house.engine.cancelled:
            break
        house.engine.emit(request.id, Text(request.id, "x" * 1000, count))
        await asyncio.sleep(0)
    await until(lambda: bool(house.engine.cancelled))
    assert house.engine.cancelled == [request.id]


async def test_nothing_is_cancelled_that_has_ended(house: House, chat: Chat) -> None:
    await house.client.post(CHAT, json=chat())
    await (await house.client.post(CHAT, json=chat(stream=True))).text()
    assert house.engine.cancelled == []
    assert house.engine.live == set()


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.LENGTH])
async def test_the_finish_reason_is_the_engine_s(
    house: House, chat: Chat, reason: FinishReason
) -> None:
    house.engine.reason = reason
    body = await (await house.client.post(CHAT, json=chat())).json()
    assert body["choices"][0]["finish_reason"] == reason.value


async def test_max_tokens_zero_fills_the_cache(house: House, chat: Chat) -> None:
    """Server case 35."""
    house.engine.answer, house.engine.reason = (), FinishReason.LENGTH
    response = await house.client.post(CHAT, json=chat(max_tokens=0))
    body = await response.json()
    assert house.engine.submitted[0].max_tokens == 0
    assert body["choices"][0]["message"]["content"] == ""
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize(
    ("fields", "max_tokens"),
    [
        ({}, MODEL.context_window - 3),
        ({"max_tokens": None}, MODEL.context_window - 3),
        ({"max_tokens": 7}, 7),
        ({"max_completion_tokens": 8}, 8),
        ({"max_tokens": 7, "max_completion_tokens": 8}, 8),
        ({"max_tokens": 100_000}, MODEL.context_window - 3),
    ],
)
async def test_max_tokens(house: House, chat: Chat, fields: Any, max_tokens: int) -> None:
    await house.client.post(CHAT, json=chat(**fields))
    assert house.engine.submitted[0].max_tokens == max_tokens


async def test_what_reaches_the_engine(house: House, chat: Chat) -> None:
    fields: dict[str, object] = {
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 40,
        "min_p": 0.1,
        "seed": 42,
        "stop": ["own fox", "\n\n"],
        "cache_salt": "kitchen",
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        "chat_template_kwargs": {"enable_thinking": False},
        "reasoning_effort": "low",
    }
    assert (await house.client.post(CHAT, json=chat(**fields))).status == 200
    (request,) = house.engine.submitted
    assert request.sampling == SamplingParams(0.0, 0.5, 40, 0.1, 42)
    assert request.stop == ("own fox", "\n\n")
    assert request.salt == "kitchen"
    ((_messages, tools, kwargs),) = house.engine.formatted
    assert tools == tuple(fields["tools"])  # type: ignore[arg-type]
    assert kwargs == {"enable_thinking": False, "reasoning_effort": "low"}


async def test_unknown_fields_are_ignored_and_counted(house: House, chat: Chat) -> None:
    body = chat(frobnicate=1, x_trace={"a": 1}, user="u", store=False)
    assert (await house.client.post(CHAT, json=body)).status == 200
    page = await (await house.client.get("/metrics")).text()
    assert (
        'ondol:unknown_request_fields_total{engine="0",model_name="house/Scripted-1B"} 2.0' in page
    )


async def test_answers_do_not_mix(house: House, chat: Chat) -> None:
    house.engine.answer = None
    sent = [asyncio.create_task(house.client.post(CHAT, json=chat())) for _ in range(8)]
    await until(lambda: len(house.engine.submitted) == 8)
    for count in range(1, 4):
        house.engine.deliver(
            tuple(Text(request.id, request.id[-4:], count) for request in house.engine.submitted)
        )
    for request in reversed(house.engine.submitted):
        house.engine.emit(request.id, finished(request, FinishReason.STOP, 3))
    bodies = [await (await answer).json() for answer in sent]
    assert len({body["id"] for body in bodies}) == 8
    for body in bodies:
        assert body["choices"][0]["message"]["content"] == body["id"][-4:] * 3


class TestKeepAlive:
    @pytest.fixture
    def options(self) -> ServerOptions:
        return ServerOptions(keepalive_s=0.05, poll_s=0.02)

    async def test_silence_is_broken_by_comments_with_progress(
        self, house: House, chat: Chat
    ) -> None:
        """Server cases 9 and 11: by the clock, armed by the first chunk, whatever prefill does."""
        loop = asyncio.get_running_loop()
        house.engine.answer = None
        began = loop.time()
        async with house.client.post(CHAT, json=chat(stream=True)) as response:
            await next_line(response)
            (request,) = house.engine.submitted
            assert await next_line(response) == ": keepalive 0/3"
            house.engine.emit(request.id, Started(request.id, 3, 0), Progress(request.id, 2))
            assert await next_line(response) == ": keepalive 2/3"
            assert await next_line(response) == ": keepalive 2/3"
            assert loop.time() - began >= 0.15
            house.engine.play(request, ("x",))
            rest = [await next_line(response) for _ in range(4)]
            assert [line[:5] for line in rest] == ["data:", "data:", "data:", ""]


@pytest.mark.parametrize(
    ("headers", "priority"),
    [
        ({}, Priority.INTERACTIVE),
        ({"X-Ondol-Priority": "interactive"}, Priority.INTERACTIVE),
        ({"x-ondol-priority": " Background "}, Priority.BACKGROUND),
    ],
)
async def test_a_client_says_how_urgent_it_is(
    house: House, chat: Chat, headers: dict[str, str], priority: Priority
) -> None:
    response = await house.client.post(CHAT, json=chat(), headers=headers)
    assert response.status == 200
    assert house.engine.submitted[-1].priority is priority


@pytest.mark.parametrize(
    ("headers", "body", "target_s", "deadline_s"),
    [
        ({}, {}, None, None),
        ({}, {"ttft_target_s": 0.5, "deadline_s": 30}, 0.5, 30.0),
        ({"X-Ondol-TTFT-Target": "0.8", "X-Ondol-Deadline": "12.5"}, {}, 0.8, 12.5),
        ({"X-Ondol-Deadline": "1"}, {"deadline_s": 9, "ttft_target_s": None}, None, 1.0),
    ],
)
async def test_a_client_says_how_soon_it_wants_its_answer(
    house: House,
    chat: Chat,
    headers: dict[str, str],
    body: dict[str, object],
    target_s: float | None,
    deadline_s: float | None,
) -> None:
    """A header wins."""
    response = await house.client.post(CHAT, json=chat() | body, headers=headers)
    assert response.status == 200
    submitted = house.engine.submitted[-1]
    assert (submitted.ttft_target_s, submitted.deadline_s) == (target_s, deadline_s)


@pytest.mark.parametrize(
    "value", ["0", "-1", "soon", "nan", "inf", "1e9", "", "1_0", "\u0663", "0x1", "90000"]
)
@pytest.mark.parametrize("header", ["X-Ondol-TTFT-Target", "X-Ondol-Deadline"])
async def test_a_time_that_is_none_is_refused(
    house: House, chat: Chat, header: str, value: str
) -> None:
    response = await house.client.post(CHAT, json=chat(), headers={header: value})
    body = await response.json()
    assert (response.status, body["error"]["code"]) == (400, "invalid_value")
    assert header in body["error"]["message"]
    assert not house.engine.submitted


async def test_a_header_that_is_said_twice_says_one_thing(house: House, chat: Chat) -> None:
    for values, status in ((("5", "5"), 200), (("5", "6"), 400)):
        headers = [("X-Ondol-Deadline", value) for value in values]
        response = await house.client.post(CHAT, json=chat(), headers=headers)
        assert response.status == status


@pytest.mark.parametrize("value", [0, -1, "1", True, 1e9, [1]])
@pytest.mark.parametrize("field", ["ttft_target_s", "deadline_s"])
async def test_a_time_in_the_body_that_is_none_is_refused(
    house: House, chat: Chat, field: str, value: object
) -> None:
    response = await house.client.post(CHAT, json=chat() | {field: value})
    body = await response.json()
    assert (response.status, body["error"]["param"]) == (400, field)
    assert not house.engine.submitted


async def test_a_deadline_that_passed_is_a_gateway_timeout(house: House, chat: Chat) -> None:
    house.engine.answer = None
    sent = asyncio.create_task(house.client.post(CHAT, json=chat()))
    await until(lambda: bool(house.engine.submitted))
    (request,) = house.engine.submitted
    house.engine.emit(request.id, Failed(request.id, DeadlinePassed(2.5)))
    response = await sent
    body = await response.json()
    assert (response.status, body["error"]["code"]) == (504, "deadline_passed")
    assert "within the 2.5 s" in body["error"]["message"]


async def test_an_unknown_urgency_is_refused(house: House, chat: Chat) -> None:
    response = await house.client.post(CHAT, json=chat(), headers={"X-Ondol-Priority": "now!"})
    body = await response.json()
    assert (response.status, body["error"]["code"]) == (400, "invalid_priority")
    assert not house.engine.submitted
