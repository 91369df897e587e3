"""The beginning of a text, short enough to be shown at once. No Qt."""

from __future__ import annotations

MAX_LINES = 40
MAX_LINE_CHARS = 400


def preview(content: str) -> tuple[str, bool]:
    """The first 40 lines, long ones cut, and whether anything is missing."""
    head = content[: MAX_LINES * (MAX_LINE_CHARS + 1)]
    lines = head.splitlines()
    shown = [
        line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
        for line in lines[:MAX_LINES]
    ]
    cut = any(len(line) > MAX_LINE_CHARS for line in lines[:MAX_LINES])
    return "\n".join(shown), cut or len(lines) > MAX_LINES or len(head) < len(content)
