"""Tools reach models whose template has no place for them, and always as the same tokens."""

from __future__ import annotations

from engine.prompt.chat import ChatFormatter, Message
from engine.prompt.template import TemplateRenderer
from engine.prompt.tools_text import tools_text
from tests.support.engine import TEMPLATE, word_codec

TOOLS = [
    {"type": "function", "function": {"name": "light", "parameters": {"b": 1, "a": 2}}},
    {"type": "function", "function": {"name": "door", "description": "문을 연다"}},
]


def test_order_and_keys_stay_as_they_came() -> None:
    lines = tools_text(TOOLS).splitlines()
    assert lines[1] == "<tools>"
    assert lines[-1] == "</tools>"
    assert lines[2].index('"b": 1') < lines[2].index('"a": 2')
    assert "문을 연다" in lines[3]


def test_a_template_without_tools_gets_them_in_the_system_text() -> None:
    renderer = TemplateRenderer()
    try:
        formatter = ChatFormatter(word_codec(), TEMPLATE, {}, renderer)
        user = Message("user", "t7")
        policy = Message("system", "t5 t6")
        without = formatter.format([policy, user])
        both = formatter.format([policy, user], TOOLS)
        pinned = formatter.prefix([policy], TOOLS)
        alone = formatter.format([user], TOOLS)
    finally:
        renderer.close()
    assert len(both.tokens) > len(without.tokens)
    assert both.tokens[: len(pinned.tokens)] == pinned.tokens
    assert len(pinned.tokens) > len(formatter_words(policy)) + len(tools_text(TOOLS).split())
    assert alone.segments[0].name == "system"
    assert both.segments[0].name == "system"
    assert both.segments[0].end >= len(tools_text(TOOLS).split())


def formatter_words(message: Message) -> list[str]:
    return (message.content or "").split()
