"""Reads a JSON body within its limits of size and time (S12)."""

from __future__ import annotations

import asyncio
import json
import math
from http import HTTPStatus
from typing import NoReturn

import aiohttp
from aiohttp import web

from app.server.errors import ApiError, bad_request
from app.server.keys import MIB, OPTIONS

MAX_JSON_DEPTH = 64


async def read_body(request: web.Request) -> bytes:
    """The whole body, decompressed. Raises ApiError: 413 too large, 408 too slow, 400 broken."""
    options = request.app[OPTIONS]
    if (request.content_length or 0) > options.body_limit:
        raise _too_large(options.body_limit)
    try:
        async with asyncio.timeout(options.body_timeout_s):
            return await request.read()
    except TimeoutError:
        raise ApiError(
            HTTPStatus.REQUEST_TIMEOUT,
            "request_timeout",
            f"The body did not arrive within {options.body_timeout_s:g} seconds.",
        ) from None
    except web.HTTPRequestEntityTooLarge:
        raise _too_large(options.body_limit) from None
    except (aiohttp.ClientPayloadError, web.RequestPayloadError):
        raise bad_request("invalid_body", "The body could not be read to its end.") from None


def parse_object(body: bytes) -> dict[str, object]:
    """The JSON object in a body, and nothing that JSON does not allow. Raises ApiError (400)."""
    try:
        text = body.decode("utf-8")
        payload = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        if _depth_exceeds(payload, MAX_JSON_DEPTH):
            raise bad_request(
                "invalid_json", f"The body is nested more than {MAX_JSON_DEPTH} levels deep."
            )
        if "\\ud" in text or "\\uD" in text:
            _refuse_lone_surrogates(payload, [])
    except (ValueError, RecursionError):
        raise bad_request("invalid_json", "The body is not valid JSON.") from None
    if not isinstance(payload, dict):
        raise bad_request("invalid_json", "The body must be a JSON object.")
    return payload


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _depth_exceeds(value: object, limit: int) -> bool:
    """Whether JSON data is nested deeper than `limit`; looks no further than that."""
    if not isinstance(value, dict | list):
        return False
    if limit == 0:
        return True
    inner = value.values() if isinstance(value, dict) else value
    return any(_depth_exceeds(item, limit - 1) for item in inner)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number too large for JSON readers")
    return number


def _refuse_lone_surrogates(value: object, where: list[str | int]) -> None:
    """Half of a surrogate pair is no character: no tokenizer and no answer could carry it.

    `where` is the way to `value`; it becomes text only for the error, since a client decides how
    long it gets.
    """
    match value:
        case str():
            if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
                raise bad_request(
                    "invalid_unicode",
                    "The text holds half of a surrogate pair, which is not a character.",
                    _path(where) or None,
                )
        case dict():
            for key, inner in value.items():
                _refuse_lone_surrogates(key, where)
                where.append(key)
                _refuse_lone_surrogates(inner, where)
                where.pop()
        case list():
            for index, inner in enumerate(value):
                where.append(index)
                _refuse_lone_surrogates(inner, where)
                where.pop()
        case _:
            return


def _path(where: list[str | int]) -> str:
    """As clients know it: messages[0].content."""
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _too_large(limit: int) -> ApiError:
    return ApiError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "request_too_large",
        f"The body may have at most {limit / MIB:g} MiB.",
    )
