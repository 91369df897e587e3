"""Cache, admission and scheduler as the settings want them, for a model or for a simulated one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.cache.cost import KVCost
from engine.cache.eviction import EvictionPolicy, LeastRecentlyUsed
from engine.cache.identity import ModelIdentity
from engine.cache.part import Storage
from engine.cache.prefix_cache import PrefixCache
from engine.cache.worth import ByWorth
from engine.config import EngineConfig, Eviction, ExactReuse, Release
from engine.schedule.admission import Admission
from engine.schedule.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class ScheduledModel:
    """What a model and its device bring along, where the settings leave it open too.

    `batches_rests` tells whether rows of unlike lengths can share a pass; `budget` is the KV
    budget in bytes.
    """

    identity: ModelIdentity
    new_storage: Callable[[], Storage]
    cost: KVCost
    budget: int
    prefill_chunk: int
    step_target_s: float
    reuses: bool = True
    batches_rests: bool = True


@dataclass(frozen=True, slots=True)
class Rooms:
    """A cache and those who decide over it."""

    cache: PrefixCache
    admission: Admission
    scheduler: Scheduler


def build_rooms(
    model: ScheduledModel,
    config: EngineConfig,
    *,
    scheduler_class: type[Scheduler] = Scheduler,
    now: Callable[[], float] = time.monotonic,
) -> Rooms:
    """The one place where settings become cache and schedule. `now` is the clock of the loop that
    will use them, in seconds."""

    def seconds(start: int, end: int) -> float:
        return scheduler.cost.seconds(start, end)  # which is built over the cache

    policy: EvictionPolicy = LeastRecentlyUsed()
    if config.eviction is Eviction.WORTH:
        policy = ByWorth(seconds, now)
    cache = PrefixCache(
        model.identity,
        model.new_storage,
        cost=model.cost,
        page_tokens=config.page_tokens,
        match_unit=config.match_unit,
        enabled=model.reuses,
        prefilled_only=config.exact_reuse is ExactReuse.PREFILL_ONLY,
        most_checkpoint_bytes=int(config.max_checkpoint_share * model.budget),
        policy=policy,
        most_client_bytes=int(config.max_client_share * model.budget),
        now=now,
    )
    admission = Admission(
        cache, model.budget, mode=config.admission, max_running=config.max_running
    )
    scheduler = scheduler_class(
        cache,
        admission,
        max_running=config.max_running,
        prefill_chunk=model.prefill_chunk,
        step_target_s=model.step_target_s,
        checkpoint_spacing=config.checkpoint_spacing,
        release=config.release if model.reuses else Release.INDEPENDENT,
        wait_or_compute=config.wait_or_compute,
        prefill_order=config.prefill_order,
        batches_rests=model.batches_rests,
    )
    return Rooms(cache, admission, scheduler)
