"""Tools for models whose chat template has no place for them: told in the system text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

_INTRODUCTION = (
    "You can call these functions. To call one, write its name and arguments as JSON between"
    " <tool_call> and </tool_call>, like"
    ' <tool_call>{"name": "...", "arguments": {}}</tool_call>.'
)


def tools_text(tools: Sequence[Mapping[str, object]]) -> str:
    """The tools one a line, in the order and with the keys as they came, so that equal tools give
    equal tokens (client rules B7, B8)."""
    lines = [json.dumps(tool, ensure_ascii=False) for tool in tools]
    return "\n".join([_INTRODUCTION, "<tools>", *lines, "</tools>"])
