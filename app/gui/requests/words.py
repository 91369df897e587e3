"""What a request's record says in words."""

from __future__ import annotations

import enum

from PySide6.QtCore import QCoreApplication

from app.gui import text
from engine.request import FinishReason, RequestRecord


class RequestState(enum.Enum):
    """How a request ended, as people see it."""

    FINISHED = FinishReason.STOP
    LIMIT = FinishReason.LENGTH
    CANCELLED = FinishReason.ABORT
    FAILED = FinishReason.ERROR

    @property
    def token(self) -> str:
        """Its colour in the theme. The shape says it too."""
        return _TOKENS[self]

    @property
    def word(self) -> str:
        match self:
            case RequestState.FINISHED:
                return QCoreApplication.translate("requests", "Finished")
            case RequestState.LIMIT:
                return QCoreApplication.translate("requests", "Length limit")
            case RequestState.CANCELLED:
                return QCoreApplication.translate("requests", "Cancelled")
            case RequestState.FAILED:
                return QCoreApplication.translate("requests", "Failed")


_TOKENS = {
    RequestState.FINISHED: "good",
    RequestState.LIMIT: "warning",
    RequestState.CANCELLED: "secondary",
    RequestState.FAILED: "bad",
}


def state_of(record: RequestRecord) -> RequestState:
    return RequestState(record.reason)


def client_name(record: RequestRecord) -> str:
    """Clients need not say who they are."""
    return record.client or QCoreApplication.translate("requests", "Unnamed client")


def cached_share(record: RequestRecord) -> float:
    """Of the prompt, between 0 and 1."""
    usage = record.usage
    return usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else 0.0


def decode_rate(record: RequestRecord) -> float | None:
    """Tokens per second of the answer; None where there are too few to tell. The first token
    belongs to the prompt's time."""
    num_decoded = record.usage.completion_tokens - 1
    seconds = record.timings.decode_s
    return num_decoded / seconds if num_decoded > 0 and seconds > 0 else None


def explanation(record: RequestRecord) -> str:
    """Why the request ended, and what can be done about it."""
    match state_of(record):
        case RequestState.FINISHED:
            return QCoreApplication.translate(
                "requests",
                "The answer is complete: the model ended it, or one of the client’s stop texts"
                " appeared.",
            )
        case RequestState.LIMIT if record.usage.completion_tokens == 0:
            return QCoreApplication.translate(
                "requests",
                "The client asked for no answer, only for the prompt to be computed. It is kept"
                " ready for the next request.",
            )
        case RequestState.LIMIT:
            return QCoreApplication.translate(
                "requests",
                "The answer was cut off: it reached the most tokens that the client allowed, or the"
                " end of what the model can take in. A larger limit in the client gives longer"
                " answers.",
            )
        case RequestState.CANCELLED:
            return QCoreApplication.translate(
                "requests",
                "The client closed the connection before the answer was complete, or Ondol was"
                " stopped. What had been computed of the prompt can still be reused.",
            )
        case RequestState.FAILED:
            return QCoreApplication.translate(
                "requests",
                "Ondol could not complete this request, or not within the time that the client had"
                " set, and told the client so. The log, which Settings opens, has more.",
            )


def course(record: RequestRecord) -> str:
    """Whether the request waited for another, and whether it had to make way; empty where neither
    came up."""
    return "\n".join(filter(None, (_decision(record), _preemptions(record.num_preemptions))))


def _decision(record: RequestRecord) -> str:
    decision = record.decision
    if decision is None:
        return ""
    if not decision.waited:
        words = QCoreApplication.translate(
            "requests",
            "Did not wait for another request that was computing the same beginning ({tokens}"
            " tokens). First word expected after {compute} this way, {wait} by waiting.",
        )
    elif not record.started:
        words = QCoreApplication.translate(
            "requests",
            "Waited {parked} for another request that was computing the same beginning ({tokens}"
            " tokens), and ended before it began itself.",
        )
    elif record.usage.awaited_tokens:
        words = QCoreApplication.translate(
            "requests",
            "Waited {parked} for another request that was computing the same beginning ({tokens}"
            " tokens). First word expected after {wait} this way, {compute} by computing it again.",
        )
    else:
        words = QCoreApplication.translate(
            "requests",
            "Waited {parked} for another request that was computing the same beginning ({tokens}"
            " tokens), but found nothing of it, so it was computed again.",
        )
    return words.format(
        parked=text.duration(record.timings.parked_s),
        tokens=text.count(decision.boundary),
        wait=text.duration(decision.wait_s),
        compute=text.duration(decision.compute_s),
    )


def _preemptions(number: int) -> str:
    if not number:
        return ""
    if number == 1:
        return QCoreApplication.translate(
            "requests",
            "Had to make way for others once, as memory was short.",
        )
    return QCoreApplication.translate(
        "requests",
        "Had to make way for others {number} times, as memory was short.",
    ).format(number=text.count(number))


def reuse(record: RequestRecord) -> str:
    """How much of the prompt was reused, and how much of that after waiting for it."""
    share = QCoreApplication.translate("requests", "{share} of the prompt was reused").format(
        share=text.percent(cached_share(record))
    )
    awaited = record.usage.awaited_tokens
    if not awaited:
        return share
    words = QCoreApplication.translate(
        "requests", "{reused}, {number} tokens of it after waiting for another request"
    )
    return words.format(reused=share, number=text.count(awaited))


def rate_words(record: RequestRecord) -> str:
    """Tokens per second as a figure; a dash where there is none."""
    rate = decode_rate(record)
    return "–" if rate is None else text.rate(rate)


def ttft_words(record: RequestRecord) -> str:
    """Time to the first token; a dash where none came."""
    seconds = record.timings.ttft_s
    return text.duration(seconds) if seconds > 0 else "–"


def as_text(record: RequestRecord) -> str:
    """One line to paste: ids, sizes and times. Untranslated, as it is for a report or a script."""
    usage, timings = record.usage, record.timings
    return (
        f"{record.id} client={record.client or '-'} model={record.model}"
        f" state={record.reason.value} prompt={usage.prompt_tokens}"
        f" cached={usage.cached_tokens} computed={usage.computed_tokens}"
        f" generated={usage.completion_tokens} awaited={usage.awaited_tokens}"
        f" preemptions={record.num_preemptions}"
        f" queue={timings.queue_s:.3f}s parked={timings.parked_s:.3f}s"
        f" prefill={timings.prefill_s:.3f}s decode={timings.decode_s:.3f}s"
        f" ttft={timings.ttft_s:.3f}s total={timings.total_s:.3f}s"
    )
