"""The shapes of a chat completion: chunks, bodies, usage, timings."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.request import Finished, Timings, Usage


@dataclass(frozen=True, slots=True)
class Completion:
    """What all parts of one answer have in common. `created` is Unix seconds."""

    id: str
    model: str
    created: int = field(default_factory=lambda: int(time.time()))

    def chunk(
        self, delta: Mapping[str, object], finish_reason: str | None = None
    ) -> dict[str, object]:
        """One event of a stream."""
        choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
        return self._head("chat.completion.chunk") | {"choices": [choice]}

    def opening(self) -> dict[str, object]:
        """The first event: it names the role, and tells that the request was accepted."""
        return self.chunk({"role": "assistant", "content": ""})

    def closing(self, finished: Finished, include_usage: bool) -> list[dict[str, object]]:
        """The last events. Usage goes on a chunk of its own, and only where it was asked for:
        clients add up what they find (server case 7)."""
        chunks = [self.chunk({}, finished.reason.value)]
        if include_usage:
            usage = usage_json(finished.usage)
            chunks.append(self._head("chat.completion.chunk") | {"choices": [], "usage": usage})
        chunks[-1]["timings"] = timings_json(finished.usage, finished.timings)
        return chunks

    def body(self, text: str, finished: Finished) -> dict[str, object]:
        """The whole answer."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": finished.reason.value,
        }
        return self._head("chat.completion") | {
            "choices": [choice],
            "usage": usage_json(finished.usage),
            "timings": timings_json(finished.usage, finished.timings),
        }

    def _head(self, kind: str) -> dict[str, object]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def usage_json(usage: Usage) -> dict[str, object]:
    """OpenAI's usage: `prompt_tokens` includes the cached; all that was computed was written."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.computed_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def timings_json(usage: Usage, timings: Timings) -> dict[str, object]:
    """llama.cpp's timings. Its rates never mix restored with computed tokens (design D9)."""
    prompt_n, predicted_n = usage.computed_tokens, usage.completion_tokens
    return {
        "cache_n": usage.cached_tokens,
        "prompt_n": prompt_n,
        "prompt_ms": timings.prefill_s * 1000,
        "prompt_per_second": _rate(prompt_n, timings.prefill_s),
        "predicted_n": predicted_n,
        "predicted_ms": timings.decode_s * 1000,
        "predicted_per_second": _rate(predicted_n, timings.decode_s),
    }


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
