"""A runner that computes nothing and takes the time that a model would."""

from __future__ import annotations

from collections.abc import Sequence

from app.bench.no_kv import NoKv
from app.bench.simulation.clock import VirtualClock
from app.bench.simulation.model import SimulatedModel, Stretch
from engine.cache.part import Part
from engine.cache.row import Row
from engine.request import SamplingParams

FIRST_TOKEN, NEXT_TOKEN = 0, 1  # of every answer; prompts end with others
_SAID = (FIRST_TOKEN, NEXT_TOKEN)


def answer(num_tokens: int) -> tuple[int, ...]:
    """What the model says, whatever it is asked."""
    return (FIRST_TOKEN, *(NEXT_TOKEN,) * (num_tokens - 1)) if num_tokens else ()


class SimulatedRunner:
    """Satisfies `engine.loop.StepRunner`: every pass moves the clock by what it costs."""

    def __init__(self, model: SimulatedModel, clock: VirtualClock) -> None:
        self._model = model
        self._clock = clock

    def new_storage(self) -> NoKv:
        return NoKv(self._model.bytes_per_token)

    def new_sampler(self, params: SamplingParams) -> None:
        return None

    def prefill(self, row: Row, num_tokens: int) -> None:
        self._pass([row], [num_tokens])

    def batches(self, rows: Sequence[Row]) -> list[list[Row]]:
        return [list(rows)] if rows else []

    def next_tokens(
        self, rows: Sequence[Row], samplers: Sequence[object], spare_bytes: int
    ) -> list[int]:
        self._pass(rows, [row.num_uncomputed for row in rows])
        return [NEXT_TOKEN if row.tokens[-1] in _SAID else FIRST_TOKEN for row in rows]

    def free_unused(self) -> None:
        pass

    def _pass(self, rows: Sequence[Row], counts: Sequence[int]) -> None:
        stretches = [
            Stretch(row.num_computed, count) for row, count in zip(rows, counts, strict=True)
        ]
        self._clock.advance(self._model.pass_s(stretches, kv_tokens_read(rows)))
        for row, count in zip(rows, counts, strict=True):
            storage = row.tail.storage
            assert isinstance(storage, NoKv)
            storage.append(count)


def kv_tokens_read(rows: Sequence[Row]) -> int:
    """Tokens of KV that a pass of these rows reads: each part once, as far as any of them stands on
    it, and every row's own tail."""
    ends: dict[Part, int] = {}
    for row in rows:
        for view in row.hold.views:
            ends[view.part] = max(view.end, ends.get(view.part, 0))
    shared = sum(end - part.base for part, end in ends.items())
    return shared + sum(row.tail.storage.num_tokens for row in rows)
