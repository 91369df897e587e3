"""The process that renders chat templates, which are code from a stranger (security S6).

Started by path with `python -I` and never imported by Ondol: it knows jinja2 and the standard
library only, so that it starts quickly and has nothing to give away. File descriptor 0 is a
socket. A frame is a 4-byte big-endian length and that many bytes of UTF-8 JSON; one that announces
the worker is ready, then one reply for each request:

    {"template", "constants", "jobs": [{"messages", "tools", "add_generation_prompt", "kwargs"}]}
        -> {"results": [{"text"} or {"error"}]}
    {"template", "variables": true}
        -> {"variables": [names]}
    either -> {"error"} for a template that cannot be read
"""

from __future__ import annotations

import functools
import json
import os
import resource
import signal
import sys
from datetime import UTC, datetime
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

MAX_OUTPUT_BYTES = 8 * 1024 * 1024
MAX_MEMORY_BYTES = 512 * 1024 * 1024
MAX_ERROR_CHARS = 500
# Twice what the renderer waits: only a worker whose renderer is gone comes this far.
ORPHAN_LIMIT_S = 4.0

TOO_MUCH_OUTPUT = f"The chat template wrote more than {MAX_OUTPUT_BYTES >> 20} MB."
TOO_MUCH_MEMORY = f"The chat template took more than {MAX_MEMORY_BYTES >> 20} MB of memory."


class Refused(TemplateError):
    """The template itself refused the messages."""


class LimitReached(Exception):
    """The template went over a limit of ours; the message names it."""


class GenerationTag(Extension):
    """`{% generation %}` marks text that training looks at; in a prompt it changes nothing."""

    tags = {"generation"}  # noqa: RUF012 - the base class declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class PlainNamespace(Namespace):
    """Keeps a template from planting attributes that Python itself would look up."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        attributes = dict(*args, **kwargs)
        for name in attributes:
            _check_attribute(name)
        super().__init__(attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_attribute(name)
        super().__setitem__(name, value)


def _check_attribute(name: object) -> None:
    if str(name).startswith("_"):
        raise SecurityError("names that begin with an underscore are not allowed in a namespace")


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox with what chat templates written for Hugging Face's library expect."""

    intercepted_binops = frozenset({"*"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[LoopControlExtension, GenerationTag],
        )
        self.filters["tojson"] = _tojson
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_today
        self.globals["namespace"] = PlainNamespace
        del self.globals["lipsum"]

    def unsafe_undefined(self, obj: Any, attribute: str) -> NoReturn:
        """Refuses at once; jinja2 itself would print nothing for `''.__class__`."""
        raise SecurityError(f"{attribute} is not allowed")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Refuses to repeat a text beyond the output limit, also where memory has no limit."""
        for sequence, times in ((left, right), (right, left)):
            repeats = isinstance(sequence, str | list | tuple) and isinstance(times, int)
            if repeats and len(sequence) * times > MAX_OUTPUT_BYTES:
                raise LimitReached(TOO_MUCH_OUTPUT)
        return super().call_binop(context, operator, left, right)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON in the key order it came in: no HTML escapes, unlike jinja2's own filter."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise_exception(message: str) -> NoReturn:
    raise Refused(message)


def _strftime_today(template: str) -> str:
    """The date at midnight: a clock would begin every prompt differently (client rule B20)."""
    now = datetime.now(UTC).astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return midnight.strftime(template)


_environment = ChatEnvironment()


@functools.lru_cache(maxsize=16)
def _compile(source: str) -> Template:
    return _environment.from_string(source)


def _render(template: Template, constants: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    variables = {
        **constants,
        **job["kwargs"],
        "messages": job["messages"],
        "tools": job["tools"],
        "add_generation_prompt": job["add_generation_prompt"],
    }
    pieces = []
    num_bytes = 0
    try:
        for piece in template.generate(variables):
            num_bytes += len(piece.encode("utf-8", "surrogatepass"))
            if num_bytes > MAX_OUTPUT_BYTES:
                raise LimitReached(TOO_MUCH_OUTPUT)
            pieces.append(piece)
    except Exception as error:
        return {"error": _describe(error)}
    return {"text": "".join(pieces)}


def _describe(error: Exception) -> str:
    """What went wrong, in words that name no path and no line of code."""
    match error:
        case LimitReached():
            text = str(error)
        case MemoryError():
            text = TOO_MUCH_MEMORY
        case RecursionError():
            text = "The chat template or its data is nested too deeply."
        case SecurityError():
            text = "The chat template tried something that templates are not allowed to do."
        case Refused():
            text = f"The chat template refused the messages: {error}"
        case TemplateSyntaxError():
            text = f"The chat template is not valid: {error.message}"
        case _:
            text = f"The chat template does not work with these messages: {error}"
    return text[:MAX_ERROR_CHARS]


def _answer(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body.decode("utf-8", "surrogatepass"))
        source = request["template"]
        if request.get("variables"):
            names = meta.find_undeclared_variables(_environment.parse(source))
            return {"variables": sorted(names - _environment.globals.keys())}
        template = _compile(source)
    except Exception as error:
        return {"error": _describe(error)}
    return {"results": [_render(template, request["constants"], job) for job in request["jobs"]]}


def _read(num_bytes: int) -> bytes:
    """Exactly this many bytes; ends the process when the other side is gone."""
    data = bytearray()
    while len(data) < num_bytes:
        chunk = os.read(0, min(num_bytes - len(data), 1 << 20))
        if not chunk:
            sys.exit(0)
        data += chunk
    return bytes(data)


def _write(reply: dict[str, Any]) -> None:
    body = json.dumps(reply, ensure_ascii=False).encode("utf-8", "surrogatepass")
    frame = memoryview(len(body).to_bytes(4, "big") + body)
    while frame:
        frame = frame[os.write(0, frame) :]


def _limit_resources() -> None:
    for name, limit in (("RLIMIT_AS", MAX_MEMORY_BYTES), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0)):
        try:
            resource.setrlimit(getattr(resource, name), (limit, limit))
        except (AttributeError, OSError, ValueError):
            # Not every system has and grants every limit; time and output are limited anyway.
            continue


def main() -> None:
    _limit_resources()
    _write({"ready": True})
    while True:
        body = _read(int.from_bytes(_read(4), "big"))
        signal.setitimer(signal.ITIMER_REAL, ORPHAN_LIMIT_S)
        reply = _answer(body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _write(reply)


if __name__ == "__main__":
    main()
