"""What a template may hold: kinds, and the rules for names, tags and content.

Content is kept to the letter. Only what is equal to the letter is found in the prefix cache.
"""

from __future__ import annotations

import enum
import json
import unicodedata
from collections.abc import Iterable, Mapping

from app.storage.errors import InvalidTemplate

MAX_NAME_CHARS = 120
MAX_TAG_CHARS = 50
MAX_TAGS = 32
MAX_CONTENT_BYTES = 8 * 1024 * 1024
MAX_TOOLS = 512

_ROLES = ("system", "developer", "user", "assistant", "tool")
_MAY_BE_EMPTY = ("assistant", "tool")
_QUOTED_CHARS = 40


class TemplateKind(enum.Enum):
    """What a template is for; this decides what its content must be."""

    SYSTEM_POLICY = "system_policy"
    TOOL_SCHEMA = "tool_schema"
    DOCUMENT = "document"
    HOUSE_INSTRUCTIONS = "house_instructions"
    CHAT_HISTORY = "chat_history"


def fold(text: str) -> str:
    """The form in which names and tags are compared: neither case nor composition counts."""
    return unicodedata.normalize("NFD", text.casefold())


def clean_name(name: str) -> str:
    """The name as stored: composed (NFC), without spaces around it. Raises InvalidTemplate."""
    return _clean_label(name, "A name", MAX_NAME_CHARS)


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags as stored, in their order, each once. Raises InvalidTemplate."""
    cleaned: dict[str, str] = {}
    for tag in tags:
        label = _clean_label(tag, "A tag", MAX_TAG_CHARS)
        cleaned.setdefault(fold(label), label)
    if len(cleaned) > MAX_TAGS:
        raise InvalidTemplate(f"{len(cleaned)} tags are too many; the most is {MAX_TAGS}.")
    return tuple(cleaned.values())


def check_content(kind: TemplateKind, content: str) -> None:
    """Raises InvalidTemplate, naming the entry where the content is a list."""
    try:
        num_bytes = len(content.encode())
    except UnicodeEncodeError as error:
        raise InvalidTemplate(
            f"The text has half a character at position {error.start} (a lone surrogate)."
            " Remove it."
        ) from None
    if num_bytes > MAX_CONTENT_BYTES:
        raise InvalidTemplate(
            f"The text has {num_bytes / 2**20:.1f} MiB; the most is"
            f" {MAX_CONTENT_BYTES // 2**20} MiB."
        )
    if not content.strip():
        raise InvalidTemplate("The text is empty.")
    if "\0" in content:
        raise InvalidTemplate(
            f"This is not text: there is a zero byte at position {content.index(chr(0))}."
        )
    if kind is TemplateKind.TOOL_SCHEMA:
        _check_tools(content)
    elif kind is TemplateKind.CHAT_HISTORY:
        _check_messages(content)


def guess_json_kind(content: str) -> TemplateKind | None:
    """What a JSON text is: tools, messages, or None for neither."""
    try:
        entries = _parse_list(content, "entries")
    except InvalidTemplate:
        return None
    first = entries[0]
    if isinstance(first, dict) and "role" in first:
        return TemplateKind.CHAT_HISTORY
    if isinstance(first, dict) and "function" in first:
        return TemplateKind.TOOL_SCHEMA
    return None


def _clean_label(text: str, what: str, max_chars: int) -> str:
    label = unicodedata.normalize("NFC", text).strip()
    if not label:
        raise InvalidTemplate(f"{what} cannot be empty.")
    if len(label) > max_chars:
        raise InvalidTemplate(
            f"{what} can have {max_chars} characters at most, and this has {len(label)}."
        )
    for position, character in enumerate(label):
        if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
            raise InvalidTemplate(
                f"{what} must be one line of ordinary characters; character {position + 1},"
                f" U+{ord(character):04X}, is not."
            )
    return label


def _check_tools(content: str) -> None:
    tools = _parse_list(content, "tools")
    if len(tools) > MAX_TOOLS:
        raise InvalidTemplate(f"{len(tools)} tools are too many; the most is {MAX_TOOLS}.")
    entry_of: dict[str, int] = {}
    for number, tool in enumerate(tools, 1):
        name = _check_tool(tool, f"Tool {number}")
        if name in entry_of:
            raise InvalidTemplate(
                f"Tool {number} (“{_short(name)}”) has the name of tool {entry_of[name]};"
                " names must differ."
            )
        entry_of[name] = number


def _check_tool(tool: object, entry: str) -> str:
    """An OpenAI function tool; its name comes back."""
    if not isinstance(tool, dict):
        raise InvalidTemplate(f"{entry} must be an object.")
    if tool.get("type") != "function":
        raise InvalidTemplate(f"{entry}: “type” must be “function”.")
    function = tool.get("function")
    if not isinstance(function, dict):
        raise InvalidTemplate(f"{entry}: “function” must be an object.")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidTemplate(f"{entry}: “function.name” must be a text that is not empty.")
    entry = f"{entry} (“{_short(name)}”)"
    _check_field(function, "description", str, "a text", entry)
    _check_field(function, "parameters", dict, "an object", entry)
    return name


def _check_field(
    function: Mapping[str, object], field: str, kind: type, expected: str, entry: str
) -> None:
    if not isinstance(function.get(field), kind | None):
        raise InvalidTemplate(f"{entry}: “function.{field}” must be {expected}.")


def _check_messages(content: str) -> None:
    for number, message in enumerate(_parse_list(content, "messages"), 1):
        _check_message(message, f"Message {number}")


def _check_message(message: object, entry: str) -> None:
    if not isinstance(message, dict):
        raise InvalidTemplate(f"{entry} must be an object.")
    role = message.get("role")
    if role not in _ROLES:
        raise InvalidTemplate(f"{entry}: “role” must be one of {', '.join(_ROLES)}.")
    if not isinstance(message.get("tool_calls"), list | None):
        raise InvalidTemplate(f"{entry}: “tool_calls” must be a list.")
    content = message.get("content")
    if content is None and role in _MAY_BE_EMPTY:
        return
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for part in parts:
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            raise InvalidTemplate(f"{entry}: “content” must be a text or a list of text parts.")


def _parse_list(content: str, what: str) -> list[object]:
    try:
        parsed = json.loads(content, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidTemplate(
            f"This is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.",
            line=error.lineno,
        ) from None
    except (RecursionError, ValueError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidTemplate(f"This is not JSON that can be used: {why}.") from None
    if not isinstance(parsed, list):
        raise InvalidTemplate(f"The JSON must be a list of {what}.")
    if not parsed:
        raise InvalidTemplate(f"The list of {what} is empty.")
    return parsed


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no number in JSON")


def _short(text: str) -> str:
    return text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 1] + "…"
