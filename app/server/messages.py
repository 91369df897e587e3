"""Chat messages from JSON, in every shape that clients send."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from app.server.errors import ApiError
from app.server.fields import read_list, wrong
from engine.prompt.chat import Message

MAX_MESSAGES = 100_000
MAX_PARTS = 10_000
MAX_TOOL_CALLS = 512

_ROLES = ("system", "developer", "user", "assistant", "tool")
# A turn that only called tools, or a tool that returned nothing, has no text (server case 17).
_MAY_BE_EMPTY = ("assistant", "tool")
# What a client may have meant to be a name is repeated to it, and nothing else (S14).
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,39}", re.ASCII)
_MEDIA_PARTS = ("image_url", "input_image", "input_audio", "audio_url", "video_url", "file")


def read_messages(payload: Mapping[str, object]) -> tuple[Message, ...]:
    """The conversation, in order. Raises ApiError (400) with the place as `param`."""
    items = read_list(payload, "messages", MAX_MESSAGES)
    if not items:
        raise wrong("messages", "an array with at least one message")
    return tuple(_read_message(item, f"messages[{index}]") for index, item in enumerate(items))


def _read_message(item: object, where: str) -> Message:
    if not isinstance(item, dict):
        raise wrong(where, "an object")
    role = item.get("role")
    if role not in _ROLES:
        raise wrong(f"{where}.role", "one of " + ", ".join(_ROLES))
    tool_calls = _read_tool_calls(item, where) if role == "assistant" else ()
    return Message(
        role=role,
        content=_read_content(item.get("content"), role, f"{where}.content"),
        name=_optional_text(item, "name", where),
        tool_calls=tool_calls,
        tool_call_id=_optional_text(item, "tool_call_id", where),
        reasoning_content=_optional_text(item, "reasoning_content", where)
        or _optional_text(item, "reasoning", where),
    )


def _read_content(content: object, role: str, where: str) -> str:
    """The text of a message; parts are joined in order, as chat templates do (server case 27)."""
    if content is None and role in _MAY_BE_EMPTY:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or len(content) > MAX_PARTS:
        raise wrong(where, f"a string or an array of at most {MAX_PARTS} parts")
    return "".join(_read_part(part, f"{where}[{index}]") for index, part in enumerate(content))


def _read_part(part: object, where: str) -> str:
    if not isinstance(part, dict):
        raise wrong(where, "an object with a type")
    kind = part.get("type")
    field = "refusal" if kind == "refusal" else "text"
    if kind in _MEDIA_PARTS:
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            "unsupported_content",
            f"This model reads text only: parts of type '{kind}' cannot be sent to it.",
            param=f"{where}.type",
        )
    if kind not in ("text", "refusal"):
        told = f", not '{kind}'" if isinstance(kind, str) and _NAME.fullmatch(kind) else ""
        raise wrong(f"{where}.type", f"'text'{told}")
    text = part.get(field)
    if not isinstance(text, str):
        raise wrong(f"{where}.{field}", "a string")
    return text


def _read_tool_calls(item: Mapping[str, object], where: str) -> tuple[Mapping[str, object], ...]:
    calls = item.get("tool_calls")
    if calls is None:
        return ()
    if not isinstance(calls, list) or len(calls) > MAX_TOOL_CALLS:
        raise wrong(f"{where}.tool_calls", f"an array of at most {MAX_TOOL_CALLS} calls")
    return tuple(
        _read_tool_call(call, f"{where}.tool_calls[{index}]") for index, call in enumerate(calls)
    )


def _read_tool_call(call: object, where: str) -> Mapping[str, object]:
    if not isinstance(call, dict):
        raise wrong(where, "an object")
    function = call.get("function")
    if not isinstance(function, dict):
        raise wrong(f"{where}.function", "an object")
    name = function.get("name")
    if not isinstance(name, str):
        raise wrong(f"{where}.function.name", "a string")
    arguments = function.get("arguments")
    if not isinstance(arguments, str | dict | None):
        raise wrong(f"{where}.function.arguments", "a string of JSON")
    return {
        "id": _optional_text(call, "id", where),
        "type": "function",
        "function": {"name": name, "arguments": "{}" if arguments is None else arguments},
    }


def _optional_text(item: Mapping[str, object], name: str, where: str) -> str | None:
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong(f"{where}.{name}", "a string")
    return value
