"""POST /v1/chat/completions, streamed and not.

The order is fixed: parse and tokenise off the loop, submit, and refuse with a status while that is
still possible. Only then come the headers and a first event, at once and before any prefill.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import hdrs, web

from app.ports import EnginePort
from app.server.body import LARGE_BODY_BYTES, parse_object, read_body
from app.server.chat_request import ChatRequest, parse_chat_request
from app.server.completion import Completion
from app.server.dispatch import Mailbox
from app.server.errors import bad_request
from app.server.keys import (
    ENGINE,
    EXECUTOR,
    LARGE_EXECUTOR,
    LAST_CHAT,
    METRICS,
    OPTIONS,
    REQUEST_ID,
    ServerOptions,
)
from app.server.models import check_name, ready_model
from app.server.streaming import EventStream, client_gone
from app.server.submission import failure, log_end, submitted
from app.server.urgency import read_urgency
from engine.model.info import ModelInfo
from engine.prompt.chat import Message
from engine.request import Failed, Finished, Progress, Prompt, Request, Started, Text

logger = logging.getLogger(__name__)

DEFAULT_MAX_TOKENS = 4096
MAX_TEXT_BYTES = 8_000_000  # a chat template may write 8 MiB, its own words included
_MOST_BYTES_OF_A_CHAR = 4
_CLIENT_CLOSED_REQUEST = 499
_CLIENT_CHARS = 60


@dataclass(frozen=True, slots=True)
class _Prepared:
    chat: ChatRequest
    prompt: Prompt
    model_id: str
    max_tokens: int


async def chat_completions(request: web.Request) -> web.StreamResponse:
    engine, options = request.app[ENGINE], request.app[OPTIONS]
    ready_model(engine)
    body = await read_body(request)
    executor = request.app[LARGE_EXECUTOR if len(body) > LARGE_BODY_BYTES else EXECUTOR]
    prepared = await asyncio.get_running_loop().run_in_executor(
        executor, _prepare, body, engine, options
    )
    request.app[METRICS].ignored_fields(prepared.chat.num_unknown_fields)
    urgency = read_urgency(request, prepared.chat)
    if not prepared.chat.salt:  # a pin is in nobody's own cache, so it could not serve that chat
        request.app[LAST_CHAT].put(prepared.chat.messages, prepared.chat.tools)
    completion = Completion(
        id=request[REQUEST_ID].replace("req-", "chatcmpl-", 1), model=prepared.model_id
    )
    submission = Request(
        id=completion.id,
        prompt=prepared.prompt,
        max_tokens=prepared.max_tokens,
        sampling=prepared.chat.sampling,
        stop=prepared.chat.stop,
        salt=prepared.chat.salt,
        client=_client_name(request),
        priority=urgency.priority,
        ttft_target_s=urgency.ttft_target_s,
        deadline_s=urgency.deadline_s,
    )
    logger.info(
        "%s body=%dB messages=%d prompt=%d max_tokens=%d stream=%s",
        submission.id,
        len(body),
        len(prepared.chat.messages),
        len(prepared.prompt.tokens),
        prepared.max_tokens,
        prepared.chat.stream,
    )
    with submitted(request.app, submission) as mailbox:
        if prepared.chat.stream:
            return await _stream(request, mailbox, completion, prepared)
        return await _answer(request, mailbox, completion)


def _prepare(body: bytes, engine: EnginePort, options: ServerOptions) -> _Prepared:
    """Everything that takes milliseconds of CPU or more. Raises ApiError and EngineError."""
    chat = parse_chat_request(parse_object(body))
    model = ready_model(engine)
    check_name(chat.model, model, options.model_aliases)
    _check_length(chat.messages, model)
    prompt = engine.format(chat.messages, chat.tools or None, chat.template_kwargs or None)
    # A prompt that leaves no room is the engine's to refuse: it knows the figures.
    room = max(1, model.context_window - len(prompt.tokens))
    wanted = DEFAULT_MAX_TOKENS if chat.max_tokens is None else chat.max_tokens
    return _Prepared(chat, prompt, model.id, max_tokens=min(wanted, room))


def _check_length(messages: Sequence[Message], model: ModelInfo) -> None:
    """Refuses by its true reason what no chat template may write out. Raises ApiError."""
    texts = [message.content or "" for message in messages]
    if sum(map(len, texts)) * _MOST_BYTES_OF_A_CHAR <= MAX_TEXT_BYTES:
        return
    num_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    if num_bytes > MAX_TEXT_BYTES:
        raise bad_request(
            "context_length_exceeded",
            f"The messages have {num_bytes} bytes of text > {MAX_TEXT_BYTES}, which is the most"
            f" that one request may have; this model's context window is {model.context_window}"
            " tokens.",
            "messages",
        )


def _client_name(request: web.Request) -> str:
    """What the client calls itself, such as "OpenAI/Python 2.3.0", without the remarks that follow.
    Its share of the cache is counted by it."""
    name = request.headers.get(hdrs.USER_AGENT, "").partition("(")[0]
    return "".join(char for char in name if char.isprintable()).strip()[:_CLIENT_CHARS]


async def _stream(
    request: web.Request, mailbox: Mailbox, completion: Completion, prepared: _Prepared
) -> web.StreamResponse:
    options = request.app[OPTIONS]
    stream = EventStream(request, options.keepalive_s)
    done, total = 0, len(prepared.prompt.tokens)
    last: Finished | Failed | None = None
    try:
        await stream.start(completion.opening())
        while last is None:
            chunks = []
            for event in await mailbox.take(min(stream.until_beat_s, options.poll_s)):
                match event:
                    case Text():
                        chunks.append(completion.chunk({"content": event.text}))
                    case Progress():
                        done = event.prompt_tokens_done
                    case Started():
                        total = event.prompt_tokens
                    case Finished() | Failed():
                        last = event
            if client_gone(request):
                return stream.response
            await stream.send(*chunks)
            if last is None and stream.until_beat_s == 0.0:
                await stream.beat(done, total)
        log_end(last)
        error = failure(last)
        if error is not None:
            await stream.send(error.envelope())
        elif isinstance(last, Finished):
            await stream.send(*completion.closing(last, prepared.chat.include_usage))
            await stream.close()
    except ConnectionError:
        logger.info("%s: the client closed the connection", completion.id)
    return stream.response


async def _answer(request: web.Request, mailbox: Mailbox, completion: Completion) -> web.Response:
    """The whole answer at once: no byte before the end, as only that decides the status."""
    options = request.app[OPTIONS]
    texts: list[str] = []
    while True:
        for event in await mailbox.take(options.poll_s):
            match event:
                case Text():
                    texts.append(event.text)
                case Started() | Progress():
                    continue
                case Finished() | Failed():
                    log_end(event)
                    if error := failure(event):
                        raise error
                    assert isinstance(event, Finished)
                    return web.json_response(completion.body("".join(texts), event))
        if client_gone(request):
            return web.Response(status=_CLIENT_CLOSED_REQUEST)
