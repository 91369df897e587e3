"""From templates to what the engine keeps warm."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.storage.content import TemplateKind
from engine.pins import PinSpec
from engine.prompt.chat import Message


@dataclass(frozen=True, slots=True)
class Price:
    """What keeping a prefix warm costs: tokens, bytes of KV, and seconds to compute it once."""

    num_tokens: int
    num_bytes: int
    seconds: float


def pin_name(template_id: int) -> str:
    """What the engine calls a template's pin."""
    return f"template-{template_id}"


def pin_spec(name: str, kind: TemplateKind, content: str, policy: str | None = None) -> PinSpec:
    """The beginning of every request that uses this template.

    A tool schema is sent together with a system policy or alone: `policy` is that policy's text.
    """
    if kind is TemplateKind.TOOL_SCHEMA:
        tools: list[Mapping[str, object]] = json.loads(content)
        return PinSpec(name, (Message("system", policy),) if policy else (), tuple(tools))
    if kind is TemplateKind.CHAT_HISTORY:
        return PinSpec(name, tuple(_message(entry) for entry in json.loads(content)))
    return PinSpec(name, (Message("system", content),))


def policy_of(messages: tuple[Message, ...]) -> str:
    """What a chat says before anybody speaks: its leading system messages, as one."""
    leading = itertools.takewhile(lambda m: m.role in ("system", "developer"), messages)
    return "\n\n".join(message.content for message in leading if message.content)


def history_content(messages: tuple[Message, ...]) -> str:
    """Messages as the content of a chat-history template."""
    entries = [
        {
            "role": message.role,
            "content": message.content,
            **({"name": message.name} if message.name else {}),
            **({"tool_calls": list(message.tool_calls)} if message.tool_calls else {}),
            **({"tool_call_id": message.tool_call_id} if message.tool_call_id else {}),
        }
        for message in messages
    ]
    return json.dumps(entries, ensure_ascii=False)


def _message(entry: Mapping[str, Any]) -> Message:
    return Message(
        role=entry["role"],
        content=entry.get("content"),
        name=entry.get("name"),
        tool_calls=tuple(entry.get("tool_calls") or ()),
        tool_call_id=entry.get("tool_call_id"),
    )
