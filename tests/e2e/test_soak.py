"""A household that never rests: people ask, leave in the middle, cancel, set deadlines, and pin and
unpin, in a cache that is much too small for them.

ONDOL_SOAK_S is how many seconds they do it for, ONDOL_SOAK_MODEL=starter asks the starter model
instead of tiny ones. `make soak` is both, for half an hour.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

import engine.model.loader
from app.home import Home
from app.paths import find_paths
from app.settings import Settings
from engine.assembly import Assembly, assemble
from engine.config import MIB, AdmissionMode, EngineConfig
from engine.engine import Engine
from engine.model.loader import LoadedModel
from tests.support.engine import TEMPLATE
from tests.support.same_answer import SingleRun, single_run
from tests.support.soak import End, Heard, Household, MemoryWatch, Question, growth, questions
from tests.support.tiny_models import VOCABULARY, tiny_model
from tests.support.waiting import wait_until

SECONDS = float(os.environ.get("ONDOL_SOAK_S", "36"))
STARTER = os.environ.get("ONDOL_SOAK_MODEL") == "starter"

START_LIMIT_S = 120.0
SETTLE_LIMIT_S = 60.0
# From one third to the next: MLX keeps up to 32 MiB of freed buffers, and Python some more.
MOST_GROWTH_BYTES = 48 * MIB


@dataclass(frozen=True)
class Soak:
    """One household. `model` names the folder of a tiny model; the budget has room for two or three
    of its longer questions."""

    model: str
    admission: AdmissionMode
    budget: int
    questions: tuple[Question, ...]


PROTECT, THROUGHPUT = AdmissionMode.PROTECT_CACHE, AdmissionMode.MAX_THROUGHPUT
# Tokens of answers. With `max throughput` nothing is kept free for those of more than 256.
ANSWERS = (4, 24, 12, 100, 8, 400)


def tiny(model: str, admission: AdmissionMode, budget: int) -> Soak:
    words = [f"t{number}" for number in range(4, VOCABULARY)]
    asked = questions(words, sizes=(100, 300), answers=ANSWERS)
    return Soak(model, admission, budget, asked)


def starter(admission: AdmissionMode) -> Soak:
    words = ["the", "lamp", "kettle", "garden", "boiler", "is", "warm", "cold", "blue", "not"]
    asked = questions(words, sizes=(100, 200, 400), answers=ANSWERS)
    return Soak("SmolLM2-135M-Instruct", admission, 64 * MIB, asked)


SOAKS = (
    [starter(PROTECT), starter(THROUGHPUT)]
    if STARTER
    else [
        tiny("llama", PROTECT, MIB),
        tiny("llama", THROUGHPUT, MIB),
        tiny("qwen3_next", THROUGHPUT, 3 * MIB // 4),
    ]
)


if STARTER:

    @pytest.fixture
    def folder(starter_model: Path) -> Callable[[Soak], Path]:
        return lambda soak: starter_model

else:

    @pytest.fixture
    def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Soak], Path]:
        """A folder of the model's name, from which a random model of that kind is loaded
        that never ends an answer by itself."""

        def load(path: Path) -> LoadedModel:
            loaded = tiny_model(path.name)
            return replace(loaded, chat_template=TEMPLATE, eos_ids=frozenset())

        def make(soak: Soak) -> Path:
            path = tmp_path / soak.model
            path.mkdir()
            (path / "config.json").write_text("{}")
            return path

        monkeypatch.setattr(engine.model.loader, "load", load)
        return make


class Leftovers:
    """What was in the cache when the engine had ended everything, before it was freed."""

    def __init__(self) -> None:
        self.holders: list[str] = []
        self.num_rows = 0
        self.open_bytes = 0
        self.num_looks = 0

    def look(self, assembly: Assembly) -> None:
        cache = assembly.parts.cache
        self.holders = [hold.owner for part in cache.parts for hold in part.holds]
        self.num_rows, self.open_bytes = len(cache.rows), cache.open_bytes
        self.num_looks += 1


@contextmanager
def house(soak: Soak, model: Path, data: Path, left: Leftovers) -> Iterator[Home]:
    """The whole Ondol without a window; every structure is checked after every step."""

    def assembler(path: Path, model_id: str, config: EngineConfig) -> Assembly:
        assembly = assemble(path, model_id, config)

        def close() -> None:
            left.look(assembly)
            assembly.close()

        return replace(assembly, close=close)

    def make_engine(model: Path, config: EngineConfig, **parts: Any) -> Engine:
        config = replace(
            config,
            kv_budget_bytes=soak.budget,
            admission=soak.admission,
            check_integrity=True,
            prefill_chunk=64,
        )
        return Engine(model, config, assembler=assembler, memory_is_short=lambda: False, **parts)

    settings = Settings(port=0, model=model)
    paths = find_paths(data)
    paths.create()
    home = Home(settings, paths, make_engine)
    home.start()
    try:
        health = home.engine.wait_until_ready(START_LIMIT_S)
        assert health.ok, health.reason
        yield home
    finally:
        assert home.stop()


@pytest.mark.timeout(2 * SECONDS + 600)
@pytest.mark.parametrize("soak", SOAKS, ids=lambda soak: f"{soak.model}, {soak.admission.value}")
def test_a_household_that_never_rests(
    soak: Soak, folder: Callable[[Soak], Path], tmp_path: Path
) -> None:
    model, left = folder(soak), Leftovers()
    free_unused()
    before = mx.get_active_memory()
    with house(soak, model, tmp_path / "data", left) as home:
        single = single_runs(home, model, soak.questions)
        people = Household(home, soak.questions, seed=7)
        with MemoryWatch(every_s=0.1) as memory:
            people.live(SECONDS / len(SOAKS), longest(single), lambda: all(happened(home, soak)))
        wait_until(lambda: is_idle(home), SETTLE_LIMIT_S)
        snapshot, seen = home.engine.snapshot, happened(home, soak)
    assert all(seen), "hits, evictions, waiting for another, preemptions"
    assert people.failures == []
    assert {heard.end for heard in people.heard} == set(End)
    assert wrong(people.heard, single) == []
    assert snapshot.totals.restarts == 0

    assert snapshot.memory.running == 0
    assert snapshot.memory.reserved == 0
    assert 0 < snapshot.memory.pinned <= snapshot.memory.resident <= soak.budget
    assert left.num_looks == 1
    assert (left.holders, left.num_rows, left.open_bytes) == ([], 0, 0)

    assert growth(memory.resident) <= MOST_GROWTH_BYTES
    assert growth(memory.mlx) <= MOST_GROWTH_BYTES
    free_unused()
    assert mx.get_active_memory() - before < MIB


def test_only_a_tie_lets_an_answer_differ() -> None:
    run = SingleRun(("", "It", "It is", "It is warm"), (3.0, 5e-4, 2.0), "length")
    assert run.is_same("It is warm", "length")
    assert run.is_same("It was cold", "length"), "the second token was a tie"
    assert not run.is_same("It is cold", "length"), "the third was none"
    assert not run.is_same("That is warm", "length")
    assert not run.is_same("It is warm and", "length")
    assert not run.is_same("It is", "stop")


def single_runs(home: Home, model: Path, asked: Sequence[Question]) -> list[SingleRun]:
    """What mlx-lm alone answers to each question."""
    loaded = engine.model.loader.load(model)
    return [
        single_run(loaded, home.engine.format(question.chat).tokens, question.max_tokens)
        for question in asked
    ]


def longest(single: Sequence[SingleRun]) -> int:
    return max(range(len(single)), key=lambda place: len(single[place].gaps))


def wrong(heard: Sequence[Heard], single: Sequence[SingleRun]) -> list[tuple[Heard, str]]:
    """Answers that are not those of a single run, each with what it should have been."""
    return [
        (each, single[each.place].text)
        for each in heard
        if each.end is End.ANSWERED and not single[each.place].is_same(each.text, each.reason)
    ]


def happened(home: Home, soak: Soak) -> tuple[bool, bool, bool, bool]:
    """Whether there were hits, evictions, requests that waited for another, and preemptions where
    they are to be expected."""
    totals = home.engine.snapshot.totals
    return (
        totals.hits > 0,
        totals.evicted_pages > 0,
        totals.awaited_tokens > 0,
        totals.preemptions > 0 or soak.admission is not THROUGHPUT,
    )


def is_idle(home: Home) -> bool:
    """Everybody has gone, and the pin that stays stands."""
    snapshot = home.engine.snapshot
    return not snapshot.num_running and not snapshot.num_waiting and snapshot.memory.pinned > 0


def free_unused() -> None:
    gc.collect()  # modules of a model refer to each other
    mx.clear_cache()
