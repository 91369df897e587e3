"""Bad input: the right status, code and field, before the engine hears of it, and no harm done."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from app.server import body, chat_request
from app.server.chat_request import MAX_STOPS, MAX_TOOLS, parse_chat_request
from app.server.errors import ApiError, from_engine
from app.server.keys import ServerOptions
from engine.errors import (
    DuplicateRequest,
    EmptyPrompt,
    EngineError,
    EngineFailed,
    EngineUnavailable,
    ModelError,
    PromptTooLong,
    QueueFull,
    TemplateError,
)
from engine.prompt.codec import InvalidText
from tests.support.house import CHAT, House

Chat = Callable[..., dict[str, object]]
JSON = {"Content-Type": "application/json"}
TOOL = {"type": "function", "function": {"name": "f"}}


def user(content: object) -> list[object]:
    return [{"role": "user", "content": content}]


WRONG_VALUES: list[tuple[dict[str, object], str]] = [
    ({"messages": None}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "hi"}, "messages"),
    ({"messages": [{"role": "user", "content": "x"}] * 100_001}, "messages"),
    ({"messages": ["hi"]}, "messages[0]"),
    ({"messages": [{"content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "wizard", "content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"role": ["user"], "content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": user(None)}, "messages[0].content"),
    ({"messages": user(7)}, "messages[0].content"),
    ({"messages": user({"type": "text", "text": "a"})}, "messages[0].content"),
    ({"messages": user(["a"])}, "messages[0].content[0]"),
    ({"messages": user([{"type": "hologram"}])}, "messages[0].content[0].type"),
    ({"messages": user([{"type": "text", "text": None}])}, "messages[0].content[0].text"),
    ({"messages": [{"role": "user", "content": "a", "name": 1}]}, "messages[0].name"),
    ({"messages": [{"role": "assistant", "tool_calls": {}}]}, "messages[0].tool_calls"),
    ({"messages": [{"role": "assistant", "tool_calls": [1]}]}, "messages[0].tool_calls[0]"),
    ({"model": 7}, "model"),
    ({"model": "x" * 257}, "model"),
    ({"stream": "true"}, "stream"),
    ({"stream": 1}, "stream"),
    ({"stream_options": True}, "stream_options"),
    ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"max_tokens": "10"}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"max_completion_tokens": []}, "max_completion_tokens"),
    ({"temperature": 2.1}, "temperature"),
    ({"temperature": -0.1}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_p": 0}, "top_p"),
    ({"top_p": 1.1}, "top_p"),
    ({"top_k": -2}, "top_k"),
    ({"top_k": 1.0}, "top_k"),
    ({"min_p": 2}, "min_p"),
    ({"seed": "lucky"}, "seed"),
    ({"seed": 2**64}, "seed"),
    ({"stop": 1}, "stop"),
    ({"stop": ""}, "stop"),
    ({"stop": ["a", None]}, "stop"),
    ({"stop": ["a"] * (MAX_STOPS + 1)}, "stop"),
    ({"stop": "x" * 257}, "stop"),
    ({"n": 0}, "n"),
    ({"n": 1_000_000_000}, "n"),
    ({"top_logprobs": 21}, "top_logprobs"),
    ({"tools": {}}, "tools"),
    ({"tools": [TOOL] * (MAX_TOOLS + 1)}, "tools"),
    ({"tools": [1]}, "tools[0]"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"chat_template_kwargs": {"a": [1]}}, "chat_template_kwargs"),
    ({"chat_template_kwargs": {str(i): 1 for i in range(33)}}, "chat_template_kwargs"),
    ({"reasoning_effort": 3}, "reasoning_effort"),
    ({"cache_salt": 1}, "cache_salt"),
]

UNSUPPORTED: list[tuple[dict[str, object], str]] = [
    ({"n": 2}, "n"),
    ({"logprobs": True}, "logprobs"),
    ({"top_logprobs": 5}, "top_logprobs"),
    ({"presence_penalty": 0.5}, "presence_penalty"),
    ({"frequency_penalty": -0.5}, "frequency_penalty"),
    ({"repetition_penalty": 1.1}, "repetition_penalty"),
    ({"logit_bias": {"42": 10}}, "logit_bias"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format"),
    ({"tool_choice": "required", "tools": [TOOL]}, "tool_choice"),
    ({"tool_choice": TOOL, "tools": [TOOL]}, "tool_choice"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"chat_template": "{{ messages }}"}, "chat_template"),
]

HARMLESS: list[dict[str, object]] = [
    dict.fromkeys(chat_request.KNOWN - {"messages"}),
    {"n": 1, "logprobs": False, "presence_penalty": 0, "logit_bias": {"1": 0}},
    {"response_format": {"type": "text"}, "modalities": ["text"], "tool_choice": "auto"},
    {"top_k": -1, "seed": -5, "stop": [], "tools": []},
    {"messages": user("")},
    {"messages": user([])},
    {"messages": [{"role": "developer", "content": "a"}, *user("b")]},
]


@pytest.mark.parametrize(("fields", "param"), WRONG_VALUES)
def test_a_wrong_value_names_its_field(fields: dict[str, object], param: str, chat: Chat) -> None:
    with pytest.raises(ApiError) as caught:
        parse_chat_request(chat(**fields))
    assert (caught.value.status, caught.value.code) == (400, "invalid_value")
    assert caught.value.param == param
    assert f"'{param}' must be" in caught.value.message


@pytest.mark.parametrize(("fields", "param"), UNSUPPORTED)
def test_what_is_not_done_is_refused(fields: dict[str, object], param: str, chat: Chat) -> None:
    """Server case 38."""
    with pytest.raises(ApiError) as caught:
        parse_chat_request(chat(**fields))
    assert (caught.value.status, caught.value.code) == (400, "unsupported_parameter")
    assert caught.value.param == param


def test_an_unknown_kind_of_part_is_named(chat: Chat) -> None:
    with pytest.raises(ApiError) as caught:
        parse_chat_request(chat(messages=user([{"type": "hologram"}])))
    assert caught.value.message == ("'messages[0].content[0].type' must be 'text', not 'hologram'.")
    for nonsense in ("/etc/passwd", "A key of mine", "x" * 41, ["text"], None):
        with pytest.raises(ApiError) as caught:
            parse_chat_request(chat(messages=user([{"type": nonsense}])))
        assert caught.value.message == "'messages[0].content[0].type' must be 'text'."


def test_an_image_is_refused_by_its_type(chat: Chat) -> None:
    part = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/"}}
    with pytest.raises(ApiError) as caught:
        parse_chat_request(chat(messages=user([part])))
    assert caught.value.code == "unsupported_content"
    assert caught.value.param == "messages[0].content[0].type"


@pytest.mark.parametrize("fields", HARMLESS)
def test_null_and_neutral_values_are_the_same_as_absent(
    fields: dict[str, object], chat: Chat
) -> None:
    """Server case 34."""
    parsed = parse_chat_request(chat(**fields))
    plain = parse_chat_request(chat())
    assert parsed.num_unknown_fields == 0
    assert (parsed.max_tokens, parsed.stream, parsed.stop) == (None, False, ())
    assert (parsed.sampling.top_p, parsed.sampling.top_k) == (1.0, 0)
    assert parsed.sampling.temperature == plain.sampling.temperature == 1.0
    assert parsed.template_kwargs == {}


def test_message_shapes(chat: Chat) -> None:
    """Server cases 17, 23, 27."""
    arguments = '{"z": 1, "a": 2}'
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages: list[object] = [
        {"role": "user", "content": [{"type": "text", "text": t} for t in ("a", "b")]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning": "hm"},
        {"role": "tool", "tool_call_id": "1", "content": "42"},
    ]
    user_turn, assistant, tool = parse_chat_request(chat(messages=messages)).messages
    assert user_turn.content == "ab"
    assert assistant.content == ""
    assert assistant.tool_calls == (call,)
    assert assistant.reasoning_content == "hm"
    assert (tool.tool_call_id, tool.content) == ("1", "42")


def test_tool_choice_none_leaves_the_tools_out(chat: Chat) -> None:
    assert parse_chat_request(chat(tools=[TOOL], tool_choice="none")).tools == ()
    assert parse_chat_request(chat(tools=[TOOL], tool_choice="auto")).tools == (TOOL,)


BAD_BODIES = [
    (b"", "invalid_json"),
    (b'{"messages": [', "invalid_json"),
    (b"[]", "invalid_json"),
    (b'"hi"', "invalid_json"),
    (b"null", "invalid_json"),
    (b'{"messages": NaN}', "invalid_json"),
    (b'{"temperature": 1e999}', "invalid_json"),
    (b'{"max_tokens": ' + b"9" * 5000 + b"}", "invalid_json"),
    (b'{"a": ' + b"[" * 200_000, "invalid_json"),
    (b'{"tools": ' + b"[" * 64 + b"]" * 64 + b"}", "invalid_json"),
    (b'{"a": "\xff"}', "invalid_json"),
    (b"\xff\xfe{\x00}\x00", "invalid_json"),
    (b'{"messages": [{"role": "user", "content": "\\ud83d"}]}', "invalid_unicode"),
    (b'{"messages": [{"role": "user", "content": "\\uDE00x"}]}', "invalid_unicode"),
    (b'{"messages": [{"role": "user", "content": "x"}], "stop": "\\ud800"}', "invalid_unicode"),
]


@pytest.mark.parametrize(("body", "code"), BAD_BODIES)
async def test_a_body_that_is_no_request(house: House, chat: Chat, body: bytes, code: str) -> None:
    """Server case 32: the error is JSON, and the connection can be used again."""
    response = await house.client.post(CHAT, data=body, headers=JSON)
    error = (await response.json())["error"]
    assert (response.status, error["code"]) == (400, code)
    assert error["type"] == "invalid_request_error"
    assert not house.engine.submitted
    again = await house.client.post(CHAT, json=chat())
    assert again.status == 200


async def test_a_lone_surrogate_names_its_place_and_pairs_are_fine(
    house: House, chat: Chat
) -> None:
    body = b'{"messages": [{"role": "user", "content": [{"type": "text", "text": "\\ud83d"}]}]}'
    response = await house.client.post(CHAT, data=body, headers=JSON)
    assert (await response.json())["error"]["param"] == "messages[0].content[0].text"
    pair = b'{"messages": [{"role": "user", "content": "\\ud83d\\ude00"}]}'
    assert (await house.client.post(CHAT, data=pair, headers=JSON)).status == 200
    assert house.engine.formatted[0][0][0].content == "😀"


@pytest.mark.parametrize("name", ["house/Scripted-1B", "Scripted-1B", "house", None])
async def test_names_of_the_model(house: House, chat: Chat, name: str | None) -> None:
    """Server case 42."""
    response = await house.client.post(CHAT, json=chat(model=name))
    assert response.status == 200
    assert (await response.json())["model"] == "house/Scripted-1B"


@pytest.mark.parametrize("name", ["gpt-4o-mini", "../../etc/passwd", "/etc/passwd", "", "a\x00b"])
async def test_an_unknown_model_lists_the_ids(house: House, chat: Chat, name: str) -> None:
    """Server case 42, S10: the message does not repeat the name."""
    response = await house.client.post(CHAT, json=chat(model=name))
    error = (await response.json())["error"]
    assert response.status == 404
    assert error == {
        "message": "There is no model of this name here. Available: house/Scripted-1B",
        "type": "invalid_request_error",
        "param": "model",
        "code": "model_not_found",
    }
    assert not house.engine.submitted


class TestBodyLimits:
    @pytest.fixture
    def options(self) -> ServerOptions:
        return ServerOptions(body_limit=10_000, body_timeout_s=0.1)

    async def test_a_body_of_known_size(self, house: House, chat: Chat) -> None:
        body = json.dumps(chat(user="x" * 10_000)).encode()
        response = await house.client.post(CHAT, data=body, headers=JSON)
        assert response.status == 413
        assert (await response.json())["error"]["code"] == "request_too_large"
        assert (await house.client.post(CHAT, json=chat())).status == 200

    async def test_a_body_of_unknown_size(self, house: House, chat: Chat) -> None:
        async def chunks() -> Any:
            for _ in range(20):
                yield b"x" * 1000

        response = await house.client.post(CHAT, data=chunks(), headers=JSON)
        assert response.status == 413
        assert (await house.client.post(CHAT, json=chat())).status == 200

    async def test_a_compressed_body_counts_unpacked(self, house: House, chat: Chat) -> None:
        headers = JSON | {"Content-Encoding": "gzip"}
        small = gzip.compress(json.dumps(chat()).encode())
        assert (await house.client.post(CHAT, data=small, headers=headers)).status == 200
        bomb = gzip.compress(b" " * 50_000_000)
        response = await house.client.post(CHAT, data=bomb, headers=headers)
        assert response.status == 413

    async def test_a_broken_compressed_body(self, house: House, chat: Chat) -> None:
        headers = JSON | {"Content-Encoding": "gzip"}
        response = await house.client.post(CHAT, data=b"not gzip at all", headers=headers)
        assert response.status == 400
        assert "error" in await response.json()

    async def test_a_slow_body(self, house: House, chat: Chat) -> None:
        gate = asyncio.Event()

        async def trickle() -> Any:
            yield b'{"messages"'
            await gate.wait()

        response = await house.client.post(CHAT, data=trickle(), headers=JSON)
        assert response.status == 408
        assert (await response.json())["error"]["code"] == "request_timeout"
        gate.set()
        assert (await house.client.post(CHAT, json=chat())).status == 200


@pytest.mark.parametrize("encoding", ["br", "zstd", "BR", "compress", "x-gzip", "gzip, br"])
async def test_what_cannot_be_unpacked_is_refused_with_words(house: House, encoding: str) -> None:
    """S12: with or without a library for it in the environment."""
    headers = JSON | {"Content-Encoding": encoding, "Connection": "close"}
    response = await house.client.post(CHAT, data=b"hello", headers=headers)
    error = (await response.json())["error"]
    assert (response.status, error["code"]) == (415, "unsupported_media_type")
    assert error["message"].endswith("or with Content-Encoding: gzip or deflate.")


@pytest.mark.parametrize(("text", "times"), [("x", 8_000_001), ("온돌", 1_400_000)])
async def test_a_text_that_no_template_may_write_is_too_long(
    house: House, chat: Chat, text: str, times: int
) -> None:
    content = io.BytesIO(json.dumps(chat(messages=user(text * times))).encode())
    response = await house.client.post(CHAT, data=content, headers=JSON)
    error = (await response.json())["error"]
    assert (response.status, error["code"]) == (400, "context_length_exceeded")
    assert "512 tokens" in error["message"]
    assert not house.engine.formatted


async def test_a_bug_is_told_by_number_only(
    house: House, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S14: no class, no path, no traceback in the answer."""

    def broken(*_args: object) -> None:
        raise TypeError("/home/someone/secret.py went wrong")

    monkeypatch.setattr(house.engine, "format", broken)
    response = await house.client.post(CHAT, json=chat())
    text = await response.text()
    assert response.status == 500
    assert response.headers["X-Request-Id"] in text
    for leak in ("TypeError", "Traceback", "secret", "/home", ".py"):
        assert leak not in text


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (PromptTooLong(9, 8), 400, "context_length_exceeded"),
        (EmptyPrompt("m"), 400, "empty_prompt"),
        (InvalidText("m"), 400, "invalid_unicode"),
        (TemplateError("m"), 400, "template_error"),
        (QueueFull("m", 0), 429, "rate_limit_exceeded"),
        (EngineUnavailable("m"), 503, "engine_unavailable"),
        (ModelError("m"), 503, "engine_unavailable"),
        (EngineFailed("m"), 500, "engine_failed"),
        (DuplicateRequest("m"), 500, "engine_failed"),
    ],
)
def test_every_engine_error_has_its_answer(error: EngineError, status: int, code: str) -> None:
    refusal = from_engine(error)
    assert (refusal.status, refusal.code, refusal.message) == (status, code, str(error))
    assert ("Retry-After" in refusal.headers) == (status in (429, 503))


def test_the_way_to_a_value_is_spelled_out_only_for_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At each value below a key of megabytes it would copy terabytes."""

    def spelled_out(where: list[str | int]) -> str:
        raise AssertionError(f"{len(where)} steps were spelled out")

    monkeypatch.setattr(body, "_path", spelled_out)
    inner = ",".join(f'"{number}":1' for number in range(1000))
    text = '{"e":"\\ud83d\\ude00","' + "k" * 10_000 + '":{' + inner + "}}"
    assert body.parse_object(text.encode())["e"] == "😀"
