from __future__ import annotations

import json

import pytest

from app.storage.content import (
    MAX_CONTENT_BYTES,
    TemplateKind,
    check_content,
    clean_name,
    clean_tags,
    fold,
    guess_json_kind,
)
from app.storage.errors import InvalidTemplate

TEXT_KINDS = [
    TemplateKind.SYSTEM_POLICY,
    TemplateKind.DOCUMENT,
    TemplateKind.HOUSE_INSTRUCTIONS,
]


def tool(name: object = "oven", **function: object) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, **function}}


def check_tools(*tools: object) -> None:
    check_content(TemplateKind.TOOL_SCHEMA, json.dumps(tools))


def check_messages(*messages: object) -> None:
    check_content(TemplateKind.CHAT_HISTORY, json.dumps(messages))


def test_names_are_composed_and_trimmed() -> None:
    assert clean_name("  Ku\u0308che \n") == "Küche"
    assert clean_name("\u1112\u1161\u11ab") == "한"
    assert clean_name("é" * 120) == "é" * 120
    assert len(clean_name("e\u0301" * 120)) == 120


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "cannot be empty"),
        (" \t\n", "cannot be empty"),
        ("n" * 121, "120 characters at most, and this has 121"),
        ("two\nlines", r"one line.*character 4, U\+000A"),
        ("nul\0", r"character 4, U\+0000"),
        ("half \ud83d", r"character 6, U\+D83D"),
        ("a\u2028b", r"U\+2028"),
    ],
)
def test_names_that_are_refused(name: str, complaint: str) -> None:
    with pytest.raises(InvalidTemplate, match=complaint):
        clean_name(name)


def test_names_are_compared_without_case_or_composition() -> None:
    assert fold("KÜCHE") == fold("ku\u0308che")
    assert fold("Straße") == fold("STRASSE")
    assert fold("온돌") == fold("\u110b\u1169\u11ab\u1103\u1169\u11af")
    assert fold("Kuche") != fold("Küche")


def test_tags_keep_their_order_and_come_once() -> None:
    assert clean_tags(["Kitchen", " kitchen ", "온돌", "KITCHEN"]) == ("Kitchen", "온돌")
    assert clean_tags([]) == ()
    assert len(clean_tags(str(n) for n in range(32))) == 32


@pytest.mark.parametrize(
    ("tags", "complaint"),
    [
        ([""], "A tag cannot be empty"),
        (["t" * 51], "50 characters at most"),
        ([str(n) for n in range(33)], "33 tags are too many; the most is 32"),
    ],
)
def test_tags_that_are_refused(tags: list[str], complaint: str) -> None:
    with pytest.raises(InvalidTemplate, match=complaint):
        clean_tags(tags)


@pytest.mark.parametrize("kind", TEXT_KINDS)
@pytest.mark.parametrize("text", ["x", " indented\r\n\ttext ", "[1, 2", "x" * MAX_CONTENT_BYTES])
def test_text_is_anything_that_is_text(kind: TemplateKind, text: str) -> None:
    check_content(kind, text)


@pytest.mark.parametrize("kind", TemplateKind)
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("x\0y", "zero byte at position 1"),
        ("xy\udc80", "half a character at position 2"),
        ("한" * (MAX_CONTENT_BYTES // 3 + 1), r"8\.0 MiB; the most is 8 MiB"),
        ("x" * (MAX_CONTENT_BYTES + 2**20), r"9\.0 MiB; the most is 8 MiB"),
    ],
)
def test_content_that_no_kind_takes(kind: TemplateKind, content: str, complaint: str) -> None:
    with pytest.raises(InvalidTemplate, match=complaint):
        check_content(kind, content)


def test_tools_as_clients_send_them() -> None:
    check_tools(tool())
    check_tools(*(tool(f"tool-{n}") for n in range(512)))
    check_tools(
        tool("light.turn_on", description="Turn on", parameters={"type": "object"}, strict=True),
        tool("light.turn_off", description=None, parameters=None),
    )


@pytest.mark.parametrize(
    ("tools", "complaint"),
    [
        ([tool(), "oven"], "Tool 2 must be an object"),
        ([{"function": {"name": "oven"}}], "Tool 1: “type” must be “function”"),
        ([tool(), {"type": "function"}], "Tool 2: “function” must be an object"),
        ([tool("")], "Tool 1: “function.name” must be a text that is not empty"),
        ([tool(7)], "Tool 1: “function.name”"),
        ([tool(description=7)], r"Tool 1 \(“oven”\): “function.description” must be a text"),
        ([tool(parameters=[])], r"Tool 1 \(“oven”\): “function.parameters” must be an object"),
        ([tool(), tool("hob"), tool()], r"Tool 3 \(“oven”\) has the name of tool 1"),
        ([tool("n" * 90, parameters=1)], r"Tool 1 \(“n{39}…”\)"),
        ([tool(f"tool-{n}") for n in range(513)], "513 tools are too many; the most is 512"),
        ([], "The list of tools is empty"),
    ],
)
def test_tools_that_are_refused(tools: list[object], complaint: str) -> None:
    with pytest.raises(InvalidTemplate, match=complaint):
        check_tools(*tools)


def test_messages_as_clients_send_them() -> None:
    check_messages(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Is it"}, {"text": " done?"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "oven"}}]},
        {"role": "tool", "tool_call_id": "1"},
        {"role": "developer", "content": ""},
    )


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("Hi", "Message 2 must be an object"),
        ({"content": "Hi"}, "Message 2: “role” must be one of system, developer, user"),
        ({"role": "robot", "content": "Hi"}, "Message 2: “role”"),
        ({"role": ["user"], "content": "Hi"}, "Message 2: “role”"),
        ({"role": "user"}, "Message 2: “content” must be a text or a list of text parts"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "Message 2: “content”"),
        ({"role": "user", "content": ["Hi"]}, "Message 2: “content”"),
        ({"role": "assistant", "tool_calls": {}}, "Message 2: “tool_calls” must be a list"),
    ],
)
def test_messages_that_are_refused(message: object, complaint: str) -> None:
    with pytest.raises(InvalidTemplate, match=complaint):
        check_messages({"role": "user", "content": "Hello"}, message)


@pytest.mark.parametrize("kind", [TemplateKind.TOOL_SCHEMA, TemplateKind.CHAT_HISTORY])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('[\n  {"type": }]', "not JSON: Expecting value in line 2, column 12"),
        ('{"tools": []}', "must be a list of"),
        ("[NaN]", "NaN is no number in JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "9" * 5_000 + "]", "This is not JSON that can be used"),
    ],
)
def test_json_that_is_refused(kind: TemplateKind, content: str, complaint: str) -> None:
    with pytest.raises(InvalidTemplate, match=complaint):
        check_content(kind, content)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (json.dumps([tool()]), TemplateKind.TOOL_SCHEMA),
        ('[{"role": "user", "content": "Hi"}]', TemplateKind.CHAT_HISTORY),
        ('[{"name": "oven"}]', None),
        ('{"role": "user"}', None),
        ("[]", None),
        ("[1]", None),
        ("no JSON", None),
    ],
)
def test_the_kind_of_a_json_text(content: str, kind: TemplateKind | None) -> None:
    assert guess_json_kind(content) is kind
