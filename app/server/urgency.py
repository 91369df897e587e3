"""How urgent a request is: who waits for it, how soon its answer should begin, and until when it is
of use. A header speaks louder than the body, since it is set by whoever runs the client."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from aiohttp import web

from app.server.chat_request import MAX_SECONDS, ChatRequest
from app.server.errors import bad_request
from engine.request import Priority

PRIORITY_HEADER = "X-Ondol-Priority"
TTFT_TARGET_HEADER = "X-Ondol-TTFT-Target"
DEADLINE_HEADER = "X-Ondol-Deadline"

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_PRIORITIES = {"interactive": Priority.INTERACTIVE, "background": Priority.BACKGROUND}


@dataclass(frozen=True, slots=True)
class Urgency:
    """`ttft_target_s` and `deadline_s` count from the moment the request is queued; None: not
    said."""

    priority: Priority
    ttft_target_s: float | None
    deadline_s: float | None


def read_urgency(request: web.Request, chat: ChatRequest) -> Urgency:
    """Raises ApiError (400) for a header that does not say what it should."""
    ttft_target_s = _seconds(request, TTFT_TARGET_HEADER)
    deadline_s = _seconds(request, DEADLINE_HEADER)
    return Urgency(
        _priority(request),
        chat.ttft_target_s if ttft_target_s is None else ttft_target_s,
        chat.deadline_s if deadline_s is None else deadline_s,
    )


def _priority(request: web.Request) -> Priority:
    """Whether somebody waits for the answer."""
    word = (_only(request, PRIORITY_HEADER) or "interactive").lower()
    try:
        return _PRIORITIES[word]
    except KeyError:
        raise bad_request(
            "invalid_priority", f"{PRIORITY_HEADER} is 'interactive' or 'background'."
        ) from None


def _only(request: web.Request, name: str) -> str | None:
    """A header's value; one that is said twice must be the same both times."""
    values = {value.strip() for value in request.headers.getall(name, ())}
    if len(values) > 1:
        raise bad_request("invalid_value", f"{name} is there more than once.")
    return values.pop() if values else None


def _seconds(request: web.Request, name: str) -> float | None:
    word = _only(request, name)
    if word is None:
        return None
    seconds = float(word) if _NUMBER.fullmatch(word) else math.nan
    if not 0 < seconds <= MAX_SECONDS:
        raise bad_request(
            "invalid_value", f"{name} is a number of seconds above 0, up to {MAX_SECONDS:g}."
        )
    return seconds
