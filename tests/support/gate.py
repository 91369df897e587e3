"""The engine's own loop over a tiny random model, with the logits of every token it chose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.commands import Cancel, Submit
from engine.config import EngineConfig
from engine.counters import Counters
from engine.loop import EngineLoop, LoopParts
from engine.metrics import EngineMetrics
from engine.model import runner as runner_module
from engine.model.loader import LoadedModel
from engine.model.runner import Runner
from engine.model.sampling import Sampler
from engine.request import Event, Finished, Prompt, Request, SamplingParams, Segment, Started
from engine.schedule.admission import Admission
from engine.schedule.scheduler import Scheduler
from tests.support.engine import word_codec
from tests.support.tiny_models import tiny_model

GREEDY = SamplingParams(temperature=0.0)
CHUNK = 64


class Gate:
    """Serves requests by real steps. `logits[id]` holds what each token of an answer was chosen
    from, float32 [tokens, vocabulary]."""

    def __init__(
        self,
        model: str | LoadedModel,
        dtype: mx.Dtype = mx.float32,
        *,
        budget: int = 1 << 30,
        match_unit: int = 1,
        enabled: bool = True,
        prefilled_only: bool = False,
        checkpoint_share: float = 1.0,
        spacing: int = 8192,
        chunk: int = CHUNK,
    ) -> None:
        loaded = tiny_model(model, dtype) if isinstance(model, str) else model
        name = loaded.path.name
        self.runner = _Recording(loaded, name, created=0, prefill_chunk=chunk)
        self.cache = PrefixCache(
            loaded.identity,
            self.runner.new_storage,
            cost=self.runner.info.cost,
            match_unit=match_unit,
            enabled=enabled and self.runner.info.reuses,
            prefilled_only=prefilled_only,
            most_checkpoint_bytes=int(budget * checkpoint_share),
        )
        self.admission = Admission(self.cache, budget)
        self.scheduler = Scheduler(
            self.cache,
            self.admission,
            max_running=16,
            prefill_chunk=chunk,
            step_target_s=1.0,
            checkpoint_spacing=spacing,
        )
        self.events: dict[str, list[Event]] = defaultdict(list)
        self.loop = EngineLoop(
            LoopParts(
                self.runner,
                self.cache,
                self.admission,
                self.scheduler,
                word_codec(),
                frozenset(),
                name,
            ),
            EngineConfig(check_integrity=True),
            deliver=self._deliver,
            record=lambda record: None,
            metrics=EngineMetrics(name),
            counters=Counters(),
        )

    def submit(
        self, name: str, tokens: Sequence[int], num_answer: int, segments: Sequence[Segment] = ()
    ) -> None:
        prompt = Prompt(tuple(tokens), tuple(segments))
        request = Request(name, prompt, num_answer, GREEDY)
        self.loop._obey(Submit(request, num_answer, 0.0))

    def cancel(self, name: str) -> None:
        self.loop._obey(Cancel(name))

    def step(self) -> None:
        self.loop.step()
        assert self.cache.used_bytes <= self.admission.budget

    def finish(self) -> None:
        """Step until everything has ended."""
        for _ in range(10_000):
            if not self.scheduler.jobs:
                return
            self.step()
        raise AssertionError("requests do not end")

    def run(
        self, name: str, tokens: Sequence[int], num_answer: int, segments: Sequence[Segment] = ()
    ) -> tuple[list[int], int]:
        """One request to its end: its answer, and how many tokens were found."""
        self.submit(name, tokens, num_answer, segments)
        self.finish()
        return self.answer(name), self.cached(name)

    def answer(self, name: str) -> list[int]:
        return self.runner.chosen[name]

    def logits(self, name: str) -> mx.array:
        return mx.stack(self.runner.logits_of[name])

    def cached(self, name: str) -> int:
        return next(e.cached_tokens for e in self.events[name] if isinstance(e, Started))

    def ended(self, name: str) -> Finished:
        (end,) = [e for e in self.events[name] if isinstance(e, Finished)]
        return end

    def fresh(self, tokens: Sequence[int], answer: Sequence[int]) -> mx.array:
        """What mlx-lm alone would choose each token of an answer from, in one pass."""
        logits = self.runner.fresh_logits([*tokens, *answer])
        return logits[len(tokens) - 1 : -1].astype(mx.float32)

    def _deliver(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self.events[event.request_id].append(event)


class _Recording(Runner):
    """A runner that keeps what its tokens were chosen from."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.logits_of: dict[str, list[mx.array]] = defaultdict(list)
        self.chosen: dict[str, list[int]] = defaultdict(list)
        super().__init__(*args, **options)

    def next_tokens(
        self, rows: Sequence[Row], samplers: Sequence[Sampler], spare_bytes: int = 0
    ) -> list[int]:
        seen: list[mx.array] = []
        sample = runner_module.sample

        def recording(logits: mx.array, of: Sequence[Sampler]) -> mx.array:
            seen.append(logits.astype(mx.float32))
            return sample(logits, of)

        runner_module.sample = recording  # type: ignore[assignment]
        try:
            tokens = super().next_tokens(rows, samplers, spare_bytes)
        finally:
            runner_module.sample = sample
        mx.eval(seen)
        for i, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            self.logits_of[row.hold.owner].append(seen[0][i])
            self.chosen[row.hold.owner].append(token)
        return tokens


def divergence(served: mx.array, fresh: mx.array) -> float:
    """Largest KL(served ‖ fresh) over the rows of two arrays of logits, in nats."""
    p = served - mx.logsumexp(served, axis=-1, keepdims=True)
    q = fresh - mx.logsumexp(fresh, axis=-1, keepdims=True)
    return float(((mx.exp(p) * (p - q)).sum(axis=-1)).max().item())


MAX_KL = 2.5e-3
MAX_DIFFERENCE = 1e-3


def check(gate: Gate, name: str, tokens: Sequence[int]) -> None:
    """A request's answer came from the logits of a fresh run."""
    answer = gate.answer(name)
    fresh = gate.fresh(tokens, answer)
    served = gate.logits(name)
    assert largest(served - fresh) <= MAX_DIFFERENCE
    assert divergence(served, fresh) <= MAX_KL
    best: list[int] = mx.argmax(fresh, axis=-1).tolist()  # type: ignore[assignment]
    for at, (token, wanted) in enumerate(zip(answer, best, strict=True)):
        if token != wanted:  # only a tie may fall another way (design §5)
            gap = float((fresh[at, wanted] - fresh[at, token]).item())
            assert gap <= MAX_DIFFERENCE


def largest(difference: mx.array) -> float:
    return float(mx.abs(difference).max().item())
