"""A chat completion request: parsed, bounded (S12), and never half obeyed.

Null is absent. What Ondol cannot do yet is refused by name; what it does not know is counted and
ignored; what has no effect on the answer is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from app.server.fields import (
    read_bool,
    read_int,
    read_list,
    read_number,
    read_object,
    read_seconds,
    read_text,
    unsupported,
    wrong,
)
from app.server.messages import read_messages
from engine.prompt.chat import Message
from engine.request import SamplingParams

MAX_CHOICES = 8
MAX_STOPS = 16
MAX_STOP_CHARS = 256
MAX_TOOLS = 512
MAX_TOOLS_CHARS = 4 * 1024 * 1024
MAX_TEMPLATE_KWARGS = 32
MAX_NAME_CHARS = 256
MAX_SEED = 2**64 - 1
MAX_SECONDS = 86_400.0

_USED = frozenset(
    (
        *("model", "messages", "tools", "tool_choice", "chat_template_kwargs"),
        *("reasoning", "reasoning_effort", "stream", "stream_options", "cache_salt"),
        *("max_tokens", "max_completion_tokens", "stop"),
        *("temperature", "top_p", "top_k", "min_p", "seed"),
        *("ttft_target_s", "deadline_s"),
    )
)
_CHECKED = frozenset(
    (
        *("n", "logprobs", "top_logprobs", "logit_bias", "response_format", "modalities"),
        *("presence_penalty", "frequency_penalty", "repetition_penalty", "repeat_penalty"),
        *("chat_template", "functions", "function_call"),
        *("audio", "prediction", "web_search_options"),
    )
)
_WITHOUT_EFFECT = frozenset(
    (
        *("user", "metadata", "store", "service_tier", "safety_identifier", "verbosity"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
        *("parallel_tool_calls", "id_slot", "cache_prompt"),
    )
)
KNOWN = _USED | _CHECKED | _WITHOUT_EFFECT


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a client asked for. `max_tokens`: None leaves it to the server, 0 fills the cache."""

    model: str | None
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, object], ...]
    template_kwargs: Mapping[str, object]
    stream: bool
    include_usage: bool
    max_tokens: int | None
    sampling: SamplingParams
    stop: tuple[str, ...]
    salt: str
    ttft_target_s: float | None
    deadline_s: float | None
    num_unknown_fields: int


def parse_chat_request(payload: Mapping[str, object]) -> ChatRequest:
    """Raises ApiError (400) naming the field."""
    _refuse_unsupported(payload)
    return ChatRequest(
        model=read_text(payload, "model", "model", MAX_NAME_CHARS),
        messages=read_messages(payload),
        tools=_read_tools(payload),
        template_kwargs=_read_template_kwargs(payload),
        stream=read_bool(payload, "stream"),
        include_usage=read_bool(
            read_object(payload, "stream_options"), "include_usage", "stream_options.include_usage"
        ),
        max_tokens=_read_max_tokens(payload),
        sampling=_read_sampling(payload),
        stop=_read_stop(payload),
        salt=read_text(payload, "cache_salt", "cache_salt", MAX_NAME_CHARS) or "",
        ttft_target_s=read_seconds(payload, "ttft_target_s", MAX_SECONDS),
        deadline_s=read_seconds(payload, "deadline_s", MAX_SECONDS),
        num_unknown_fields=sum(name not in KNOWN for name in payload),
    )


def _read_max_tokens(payload: Mapping[str, object]) -> int | None:
    """`max_completion_tokens` is the newer name and wins."""
    older = read_int(payload, "max_tokens", low=0)
    newer = read_int(payload, "max_completion_tokens", low=0)
    return older if newer is None else newer


def _read_sampling(payload: Mapping[str, object]) -> SamplingParams:
    seed = read_int(payload, "seed", low=-(2**63), high=MAX_SEED)
    top_p = read_number(payload, "top_p", 0.0, 1.0, default=1.0)
    if top_p == 0.0:
        raise wrong("top_p", "a number above 0, up to 1")
    top_k = read_int(payload, "top_k", low=-1)
    return SamplingParams(
        temperature=read_number(payload, "temperature", 0.0, 2.0, default=1.0),
        top_p=top_p,
        top_k=0 if top_k is None else max(0, top_k),
        min_p=read_number(payload, "min_p", 0.0, 1.0, default=0.0),
        seed=None if seed is None else seed & MAX_SEED,
    )


def _read_stop(payload: Mapping[str, object]) -> tuple[str, ...]:
    stop = payload.get("stop")
    if stop is None:
        return ()
    stops = [stop] if isinstance(stop, str) else stop
    expected = f"a string or up to {MAX_STOPS} strings of 1 to {MAX_STOP_CHARS} characters"
    if not isinstance(stops, list) or len(stops) > MAX_STOPS:
        raise wrong("stop", expected)
    for text in stops:
        if not isinstance(text, str) or not 0 < len(text) <= MAX_STOP_CHARS:
            raise wrong("stop", expected)
    return tuple(stops)


def _read_tools(payload: Mapping[str, object]) -> tuple[Mapping[str, object], ...]:
    """The function tools; `tool_choice` "none" leaves them out of the prompt."""
    tools = read_list(payload, "tools", MAX_TOOLS)
    choice = payload.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise unsupported(
            "tool_choice", "Only 'auto' and 'none' are supported: a call cannot be forced."
        )
    for index, tool in enumerate(tools):
        _check_tool(tool, f"tools[{index}]")
    if tools and len(json.dumps(tools)) > MAX_TOOLS_CHARS:
        raise wrong("tools", f"at most {MAX_TOOLS_CHARS} characters of JSON")
    return () if choice == "none" else tuple(tool for tool in tools if isinstance(tool, dict))


def _check_tool(tool: object, where: str) -> None:
    if not isinstance(tool, dict):
        raise wrong(where, "an object")
    if tool.get("type") != "function":
        raise unsupported(f"{where}.type", "Only tools of type 'function' are supported.")
    function = tool.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise wrong(f"{where}.function", "an object with a name")


def _read_template_kwargs(payload: Mapping[str, object]) -> Mapping[str, object]:
    """Arguments for the chat template; which names it takes is the formatter's rule (S7)."""
    kwargs = dict(read_object(payload, "chat_template_kwargs"))
    effort = payload.get("reasoning_effort")
    if effort is None:
        effort = read_object(payload, "reasoning").get("effort")
    if effort is not None:
        if not isinstance(effort, str) or len(effort) > MAX_NAME_CHARS:
            raise wrong("reasoning_effort", "a short string")
        kwargs.setdefault("reasoning_effort", effort)
    if len(kwargs) > MAX_TEMPLATE_KWARGS:
        raise wrong("chat_template_kwargs", f"an object of at most {MAX_TEMPLATE_KWARGS} fields")
    for value in kwargs.values():
        if not isinstance(value, str | int | float | bool | None):
            raise wrong("chat_template_kwargs", "an object of strings, numbers and booleans")
    return kwargs


def _refuse_unsupported(payload: Mapping[str, object]) -> None:
    """What would change the answer must not be ignored in silence (server case 38)."""
    choices = read_int(payload, "n", low=1, high=MAX_CHOICES)
    if choices not in (None, 1):
        raise unsupported("n", "One choice per request is supported: n must be 1.")
    if read_bool(payload, "logprobs"):
        raise unsupported("logprobs", "Log probabilities are not supported.")
    if read_int(payload, "top_logprobs", low=0, high=20):
        raise unsupported("top_logprobs", "Log probabilities are not supported.")
    for name, neutral in _NEUTRAL.items():
        if read_number(payload, name, -100.0, 100.0, default=neutral) != neutral:
            raise unsupported(name, f"Penalties are not supported: {name} must be {neutral:g}.")
    if any(bias != 0 for bias in read_object(payload, "logit_bias").values()):
        raise unsupported("logit_bias", "Biasing tokens is not supported.")
    kind = read_object(payload, "response_format").get("type")
    if kind not in (None, "text"):
        raise unsupported("response_format", "Only response_format 'text' is supported.")
    if payload.get("modalities") not in (None, [], ["text"]):
        raise unsupported("modalities", "Only text can be generated.")
    if payload.get("chat_template") is not None:
        raise unsupported("chat_template", "A request cannot bring its own chat template.")
    for name in _REPLACED_OR_ABSENT:
        if payload.get(name):
            raise unsupported(name, f"'{name}' is not supported.")


_NEUTRAL = {
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,
}
_REPLACED_OR_ABSENT = ("functions", "function_call", "audio", "prediction", "web_search_options")
