"""A request's stay in the engine: submitted once, and cancelled if its client leaves."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from http import HTTPStatus

from aiohttp import web

from app.server.dispatch import Mailbox
from app.server.errors import ApiError, from_engine
from app.server.keys import DISPATCHER, ENGINE
from engine.errors import EngineUnavailable, UnknownRequest
from engine.request import Failed, Finished, FinishReason, Request

logger = logging.getLogger(__name__)

_ANSWERED = (FinishReason.STOP, FinishReason.LENGTH)


@contextlib.contextmanager
def submitted(app: web.Application, submission: Request) -> Iterator[Mailbox]:
    """The request's events while the block runs. Raises whatever `Engine.submit` raises.

    Leaving the block before the last event, by an error or because the client has gone, cancels the
    request: the engine drops its row at its next step and keeps the pages it has computed.
    """
    engine, dispatcher = app[ENGINE], app[DISPATCHER]
    mailbox = dispatcher.open(submission.id)
    try:
        engine.submit(submission)
    except BaseException:
        dispatcher.close(submission.id)
        raise
    try:
        yield mailbox
    finally:
        dispatcher.close(submission.id)
        if not mailbox.ended:
            logger.info("%s left by its client", submission.id)
            with contextlib.suppress(UnknownRequest, EngineUnavailable):
                engine.cancel(submission.id)


def failure(event: Finished | Failed) -> ApiError | None:
    """Why a request's last event is no answer; None where it is one."""
    if isinstance(event, Failed):
        return from_engine(event.error)
    if event.reason in _ANSWERED:
        return None
    return ApiError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "request_aborted",
        "The request was ended before its answer was complete. Send it again.",
    )


def log_end(event: Finished | Failed) -> None:
    """One line of ids, sizes and times for a request that came to its end."""
    if isinstance(event, Failed):
        logger.warning("%s failed: %s", event.request_id, type(event.error).__name__)
        return
    usage, timings = event.usage, event.timings
    logger.info(
        "%s %s prompt=%d cached=%d out=%d queue=%.3fs ttft=%.3fs total=%.3fs",
        event.request_id,
        event.reason.value,
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.completion_tokens,
        timings.queue_s,
        timings.ttft_s,
        timings.total_s,
    )
