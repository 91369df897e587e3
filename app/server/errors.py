"""Every refusal in one shape: OpenAI's error envelope, the right status, nothing internal (S14)."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from aiohttp import web

from app.server.keys import METRICS, REQUEST_ID
from engine.errors import (
    DeadlinePassed,
    EmptyPrompt,
    EngineError,
    EngineUnavailable,
    ModelError,
    PromptTooLong,
    QueueFull,
    TemplateError,
)
from engine.prompt.codec import InvalidText

logger = logging.getLogger(__name__)

UNAVAILABLE_RETRY_S = 5
_REQUEST_ID_HEADER = "X-Request-Id"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiError(Exception):
    """A refusal as the client sees it. `message` is ours: it never holds a path or an input."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.headers = dict(headers or {})

    @property
    def kind(self) -> str:
        """OpenAI's `type` for this status."""
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            return "rate_limit_error"
        if self.status == HTTPStatus.FORBIDDEN:
            return "permission_error"
        if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "server_error"
        return "invalid_request_error"

    def envelope(self) -> dict[str, object]:
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.code,
            }
        }

    def response(self) -> web.Response:
        return web.json_response(self.envelope(), status=self.status, headers=self.headers)


def bad_request(code: str, message: str, param: str | None = None) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, code, message, param=param)


def unsupported_encoding() -> ApiError:
    """415: a body that only a library which Ondol does not bring could unpack."""
    return ApiError(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "Send the body as it is, or with Content-Encoding: gzip or deflate.",
        headers={"Accept-Encoding": "gzip, deflate"},
    )


def unavailable(reason: str, retry_after_s: int = UNAVAILABLE_RETRY_S) -> ApiError:
    """503: the engine cannot serve now; `reason` is the engine's own sentence."""
    return ApiError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "engine_unavailable",
        reason or "No model is ready.",
        headers={"Retry-After": str(retry_after_s)},
    )


def from_engine(error: EngineError) -> ApiError:
    """The refusal for an engine error. Its message is written for clients (engine.errors)."""
    text = str(error)
    match error:
        case PromptTooLong():
            return bad_request("context_length_exceeded", text, "messages")
        case InvalidText():
            return bad_request("invalid_unicode", text, "messages")
        case EmptyPrompt():
            return bad_request("empty_prompt", text, "messages")
        case TemplateError():
            return bad_request("template_error", text, "messages")
        case QueueFull():
            return ApiError(
                HTTPStatus.TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                text,
                headers={"Retry-After": str(max(1, error.retry_after_s))},
            )
        case DeadlinePassed():
            return ApiError(HTTPStatus.GATEWAY_TIMEOUT, "deadline_passed", text)
        case EngineUnavailable() | ModelError():
            return unavailable(text)
        case _:
            return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "engine_failed", text)


def from_http(error: web.HTTPException) -> ApiError:
    """The envelope for what aiohttp itself refuses: routes, methods, sizes."""
    allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
    match error.status:
        case HTTPStatus.NOT_FOUND:
            return ApiError(error.status, "not_found", "There is no such address here.")
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return ApiError(
                error.status,
                "method_not_allowed",
                "This address does not take this method.",
                headers=allow,
            )
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return ApiError(error.status, "request_too_large", "The body is too large.")
        case status if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return ApiError(status, "invalid_request", f"{HTTPStatus(status).phrase}.")
        case status:
            return ApiError(status, "internal_error", "The server could not answer this request.")


def internal_error(request_id: str) -> ApiError:
    """A bug: the client gets a number to quote, the log has the place."""
    return ApiError(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal_error",
        f"Something went wrong inside Ondol. The log has the details of request {request_id}.",
    )


def as_api_error(error: Exception, request_id: str) -> ApiError:
    """What a client is told about any exception."""
    match error:
        case ApiError():
            return error
        case EngineError():
            return from_engine(error)
        case web.HTTPException():
            return from_http(error)
        case _:
            logger.error("request %s failed", request_id, exc_info=error)
            return internal_error(request_id)


@web.middleware
async def errors_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Outermost: names the request, and turns every exception into an envelope.

    Once bytes of an answer are out nothing can be taken back: the connection is cut instead.
    """
    request[REQUEST_ID] = f"req-{uuid.uuid4().hex}"
    try:
        return await handler(request)
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        refusal = from_http(error)
    except ConnectionError:
        raise
    except Exception as error:
        refusal = as_api_error(error, request[REQUEST_ID])
    if request.writer.output_size > 0:
        raise ConnectionResetError("the answer had already begun")
    request.app[METRICS].refused(refusal.code)
    return refusal.response()


async def add_request_id(request: web.Request, response: web.StreamResponse) -> None:
    """A signal handler: every response carries the id that the log uses."""
    if request_id := request.get(REQUEST_ID):
        response.headers[_REQUEST_ID_HEADER] = request_id
