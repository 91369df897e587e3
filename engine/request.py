"""What a request is, its events on the way out, and what it cost."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from engine.errors import EngineError


class Priority(enum.IntEnum):
    """Who goes first; smaller is more urgent."""

    INTERACTIVE = 0
    BACKGROUND = 1
    PIN = 2


class FinishReason(enum.Enum):
    """Why a request ended; the values are the OpenAI names."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Segment:
    """A named stretch of the prompt, tokens [start, end): "system" (with tools), "messages",
    "generation"."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens of a prompt and the segments that cover them in order."""

    tokens: tuple[int, ...]
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is chosen. `temperature` 0 is greedy; `top_k` 0 and `top_p` 1 switch those
    filters off."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request as submitted. `max_tokens` 0 fills the cache and generates nothing.

    `salt` separates caches: requests with different salts never share KV. `client` names whom its
    share of the cache is counted for. `ttft_target_s` is how soon after submit its first token is
    wanted, which decides whether waiting for another request is soon enough. After `deadline_s` it
    is of no use any more, and ends.
    """

    id: str
    prompt: Prompt
    max_tokens: int
    sampling: SamplingParams = field(default_factory=SamplingParams)
    stop: tuple[str, ...] = ()
    salt: str = ""
    client: str = ""
    priority: Priority = Priority.INTERACTIVE
    ttft_target_s: float | None = None
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request. computed + cached == prompt (design D9). Of the cached ones,
    `awaited_tokens` were computed by another request while this one waited for them."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    awaited_tokens: int = 0

    @property
    def computed_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request waited for another that was computing what it needs, or computed it for
    itself. Up to `boundary` tokens were common, of which `num_cached` were there before. Seconds to
    the first token were expected to be `wait_s` one way and `compute_s` the other."""

    waited: bool
    leader_id: str
    boundary: int
    num_cached: int
    wait_s: float
    compute_s: float


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds spent in each phase, which add up to `total_s`. `queue_s` is all waiting, after a
    preemption too; `parked_s` of it was for what another request computed. `ttft_s` counts from
    submit to the first token; 0.0 where a phase never began."""

    queue_s: float = 0.0
    parked_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    ttft_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Started:
    """The request was admitted: its hit is known and its row exists."""

    request_id: str
    prompt_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Prompt tokens that stand in KV by now, out of `Started.prompt_tokens`."""

    request_id: str
    prompt_tokens_done: int


@dataclass(frozen=True, slots=True)
class Text:
    """New text of the answer; `completion_tokens` counts tokens generated so far. `text` is never
    empty."""

    request_id: str
    text: str
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Finished:
    """Last event of a request that ended well or was cancelled (`ABORT`)."""

    request_id: str
    reason: FinishReason
    usage: Usage
    timings: Timings


@dataclass(frozen=True, slots=True)
class Failed:
    """Last event of a request that could not be completed."""

    request_id: str
    error: EngineError


Event = Started | Progress | Text | Finished | Failed


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One finished request for the history: ids, sizes and times, never a body. `ended_at` is Unix
    seconds. `decision` is there where another request was computing what this one needed.
    `num_preemptions` counts how often it had to make room and went on later."""

    id: str
    client: str
    model: str
    priority: Priority
    reason: FinishReason
    usage: Usage
    timings: Timings
    ended_at: float
    decision: Decision | None = None
    num_preemptions: int = 0

    @property
    def started(self) -> bool:
        """Whether any of it was worked on, before it ended."""
        return self.timings.prefill_s > 0
