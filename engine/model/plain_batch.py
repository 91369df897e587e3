"""A batch as plain mlx-lm runs it, every row on a copy of its own of the prefix: what sharing is
compared with.

Times are seconds; every call has evaluated what it started before it returns.
"""

from __future__ import annotations

import copy
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx_lm.generate import BatchGenerator, generate_step, generation_stream
from mlx_lm.models.cache import KVCache

from engine.model.plain import PlainModel

ROOM_TOKENS: int = KVCache.step  # a cache of mlx-lm's grows by so many tokens at a time

_MOST_ROWS = 64


def allocated_bytes() -> int:
    """Bytes of all arrays that exist now, once everything is computed and nothing is left over."""
    gc.collect()
    mx.synchronize()
    return int(mx.get_active_memory())


@dataclass(frozen=True, slots=True)
class Joined:
    """A row that joined a running batch: seconds until its first token is known, and until one step
    later. In those the batch made `steps_before` steps without it and `steps_after` with it."""

    first_s: float
    total_s: float
    steps_before: int
    steps_after: int


class PlainBatch(PlainModel):
    """mlx-lm's own `BatchGenerator`, greedy, whose rows all begin with a copy of one prefix.

    Used by the thread that made it. `most_tokens` is what a row may generate at most.
    """

    def __init__(self, model: Module, prefill_chunk: int, most_tokens: int) -> None:
        super().__init__(model, prefill_chunk)
        self._most_tokens = most_tokens
        self._prefix: list[int] = []
        self._generator: Any = None
        self._ids: list[int] = []

    def keep(self, prefix: Sequence[int]) -> None:
        """Compute the KV that rows are given copies of."""
        self._prefix = list(prefix)
        self.place(prefix, prefix[:1])

    def start(self, suffixes: Sequence[Sequence[int]]) -> tuple[float, ...]:
        """Rows on prefix + suffix, all at once. Seconds until the first token of each is known."""
        self._cut(len(self._prefix))
        started = time.perf_counter()
        self._generator = BatchGenerator(
            self._model,
            completion_batch_size=_MOST_ROWS,
            prefill_batch_size=_MOST_ROWS,
            prefill_step_size=self._prefill_chunk,
        )
        self._ids = self._insert(suffixes)
        seen: dict[int, float] = {}
        while len(seen) < len(self._ids):
            ids = self._next()
            now = time.perf_counter() - started
            for each in ids:
                seen.setdefault(each, now)
        self._wait()
        return tuple(seen[each] for each in self._ids)

    def steps(self, count: int) -> float:
        """So many steps of all rows."""
        started = time.perf_counter()
        for _ in range(count):
            self._next()
        self._wait()
        return time.perf_counter() - started

    def join(self, suffix: Sequence[int]) -> Joined:
        """One more row on the prefix, while the others run."""
        self._cut(len(self._prefix))
        started = time.perf_counter()
        (joining,) = self._insert([suffix])
        num_calls = 1
        while joining not in self._next():
            num_calls += 1
        first_s = time.perf_counter() - started
        self._next()
        self._wait()
        total_s = time.perf_counter() - started
        self._ids.append(joining)
        # The call that tells its first token has already begun the step after it, with all rows.
        return Joined(first_s, total_s, num_calls - 1, 2)

    def leave(self) -> float:
        """The row that came last leaves, and the others make a step."""
        started = time.perf_counter()
        self._generator.remove([self._ids.pop()])
        self._next()
        self._wait()
        return time.perf_counter() - started

    def stop(self) -> None:
        """End all rows."""
        self._generator.close()
        self._generator = None
        self._ids = []
        gc.collect()

    def limit(self, suffix: Sequence[int]) -> float:
        """Seconds to compute a suffix with the KV of the prefix in place."""
        self.place(self._prefix, suffix)
        return self.extend(suffix)

    def one_by_one(self, suffixes: Sequence[Sequence[int]]) -> float:
        """Seconds until clients have their first tokens, one after the other, each with a copy of
        the prefix for itself."""
        self._cut(len(self._prefix))
        kept = self._cache, self._tokens
        started = time.perf_counter()
        for suffix in suffixes:
            self._cache, self._tokens = copy.deepcopy(kept[0]), list(self._prefix)
            self._forward(suffix)
        seconds = time.perf_counter() - started
        self._cache, self._tokens = kept
        return seconds

    def start_alone(self, suffix: Sequence[int]) -> None:
        """Bring one row's prefix and suffix into place for `alone_steps`."""
        self._cut(len(self._prefix))
        self._forward(suffix)

    def alone_steps(self, count: int) -> float:
        """So many steps of that one row by mlx-lm's `generate_step`, on a cache of its own."""
        token = mx.array(self._tokens[-1:])
        started = time.perf_counter()
        # It computes one step more than it yields tokens.
        for _ in generate_step(
            token,
            self._model,
            max_tokens=count - 1,
            prompt_cache=self._cache,
            prefill_step_size=self._prefill_chunk,
        ):
            pass
        mx.synchronize(generation_stream)
        seconds = time.perf_counter() - started
        self._tokens += [0] * count  # which ones does not matter: they are cut off again
        return seconds

    def _insert(self, suffixes: Sequence[Sequence[int]]) -> list[int]:
        ids: list[int] = self._generator.insert(
            [list(suffix) for suffix in suffixes],
            max_tokens=[self._most_tokens] * len(suffixes),
            caches=[self._cache] * len(suffixes),  # copied when rows are put together
        )
        return ids

    def _next(self) -> list[int]:
        """Rows that have a new token."""
        _, responses = self._generator.next()
        return [response.uid for response in responses]

    def _wait(self) -> None:
        """It computes one step ahead: let that end."""
        mx.synchronize(self._generator.stream)
