"""Reads a JSON body within its limits of size and time (S12)."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable
from http import HTTPStatus
from itertools import chain
from typing import NoReturn

import aiohttp
from aiohttp import web

from app.server.errors import ApiError, bad_request
from app.server.keys import MIB, OPTIONS

MAX_JSON_DEPTH = 64
LARGE_BODY_BYTES = 1024 * 1024  # above, one is prepared at a time

MAX_CONTAINERS = 1_000_000

_CONTAINERS = (dict, list)
_ALL_BUT_OPENING = bytes(byte for byte in range(256) if byte not in b'[{"')


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
    """The JSON object in a body, and nothing that JSON does not allow. Raises ApiError: 400, or 413
    for more objects and arrays than any chat has."""
    if body.count(b"[") + body.count(b"{") > MAX_CONTAINERS:
        _check_num_containers(body)
    try:
        text = body.decode("utf-8")
        payload = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        _check_values(payload, may_have_surrogates="\\ud" in text or "\\uD" in text)
    except (ValueError, RecursionError):
        raise bad_request("invalid_json", "The body is not valid JSON.") from None
    if not isinstance(payload, dict):
        raise bad_request("invalid_json", "The body must be a JSON object.")
    return payload


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check_num_containers(body: bytes) -> None:
    """Millions of objects and arrays take Python's collector ten times as long as their bytes say.

    Counts those outside of texts, where code may have as many brackets as it likes, without making
    a Python object of each. Raises ApiError (413).
    """
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(unescaped.translate(None, _ALL_BUT_OPENING).split(b'"')[::2])
    if len(outside) > MAX_CONTAINERS:
        raise ApiError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "request_too_large",
            f"The body may hold at most {MAX_CONTAINERS} objects and arrays.",
        )


def _check_values(payload: object, *, may_have_surrogates: bool) -> None:
    """Refuses deep nesting and lone surrogates. Level by level, not value by value: a body may
    have millions of values, and Python takes ten times as long where it calls a function for each.

    Raises ApiError.
    """
    level = [payload] if isinstance(payload, dict | list) else []
    for _ in range(MAX_JSON_DEPTH):
        if not level:
            return
        objects = [item for item in level if isinstance(item, dict)]
        values: Iterable[object] = chain(
            chain.from_iterable(item for item in level if isinstance(item, list)),
            chain.from_iterable(item.values() for item in objects),
        )
        if may_have_surrogates:
            values = list(values)
            if _has_lone_surrogate(chain(chain.from_iterable(objects), values)):
                _refuse_lone_surrogates(payload, [])
        level = [item for item in values if isinstance(item, _CONTAINERS)]
    if level:
        raise bad_request(
            "invalid_json", f"The body is nested more than {MAX_JSON_DEPTH} levels deep."
        )


def _has_lone_surrogate(values: Iterable[object]) -> bool:
    """Whether any text among the values has one: UTF-8 cannot carry it."""
    try:
        "".join([value for value in values if isinstance(value, str)]).encode()
    except UnicodeEncodeError:
        return True
    return False


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
