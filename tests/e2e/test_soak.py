"""A household that never rests: people ask, leave in the middle, cancel, set deadlines, and pin and
unpin, in a cache that is much too small for them.

ONDOL_SOAK_S is how many seconds they do it for, ONDOL_SOAK_MODEL=starter asks the starter model
instead of tiny ones. `make soak` is both, for half an hour.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import engine.model.loader
from app.home import Home
from app.paths import find_paths
from app.settings import Settings
from engine.assembly import Assembly, assemble
from engine.config import AdmissionMode, EngineConfig
from engine.engine import Engine
from engine.model.loader import LoadedModel
from engine.prompt.chat import Message
from tests.support.engine import TEMPLATE
from tests.support.same_answer import MOST_GAP, gap_where_it_parts
from tests.support.soak import End, Heard, Household, MemoryWatch, Question, growth, questions
from tests.support.tiny_models import VOCABULARY, tiny_model
from tests.support.waiting import wait_until

SECONDS = float(os.environ.get("ONDOL_SOAK_S", "54"))
STARTER = os.environ.get("ONDOL_SOAK_MODEL") == "starter"

START_LIMIT_S = 120.0
SETTLE_LIMIT_S = 60.0
# One third beside the next: what the allocator keeps of freed memory moves by some percent.
MOST_GROWTH = 1.1


@dataclass(frozen=True)
class Soak:
    """One household. `model` names the folder of a tiny model; the budget has room for two or three
    of its longer questions."""

    model: str
    admission: AdmissionMode
    budget: int
    questions: tuple[Question, ...]


def tiny(model: str, admission: AdmissionMode, budget: int) -> Soak:
    words = [f"t{number}" for number in range(4, VOCABULARY)]
    asked = questions(words, sizes=(60, 150, 300, 500), answers=(4, 16, 300, 40))
    return Soak(model, admission, budget, tuple(asked))


def starter(admission: AdmissionMode) -> Soak:
    words = ["the", "lamp", "kettle", "garden", "boiler", "is", "warm", "cold", "blue", "not"]
    asked = questions(words, sizes=(60, 200, 500), answers=(4, 16, 240, 32))
    return Soak("SmolLM2-135M-Instruct", admission, 96 * 1024 * 1024, tuple(asked))


PROTECT, THROUGHPUT = AdmissionMode.PROTECT_CACHE, AdmissionMode.MAX_THROUGHPUT
SOAKS = (
    [starter(PROTECT), starter(THROUGHPUT)]
    if STARTER
    else [
        tiny("llama", PROTECT, 1536 * 1024),
        tiny("llama", THROUGHPUT, 1536 * 1024),
        tiny("qwen3_next", THROUGHPUT, 1280 * 1024),
    ]
)


if STARTER:

    @pytest.fixture
    def folder(starter_model: Path) -> Callable[[Soak], Path]:
        return lambda soak: starter_model

else:

    @pytest.fixture
    def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Soak], Path]:
        """A folder of the model's name, from which a random model of that kind is loaded."""

        def load(path: Path) -> LoadedModel:
            return replace(tiny_model(path.name), chat_template=TEMPLATE)

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
        self.seen = False

    def look(self, assembly: Assembly) -> None:
        cache = assembly.parts.cache
        cache.check_integrity()
        self.holders = [hold.owner for part in cache.parts for hold in part.holds]
        self.num_rows, self.open_bytes = len(cache.rows), cache.open_bytes
        self.seen = True


@contextmanager
def house(soak: Soak, model: Path, data: Path, left: Leftovers) -> Iterator[Home]:
    """The whole Ondol without a window; every structure is checked after every step."""

    def assembler(path: Path, model_id: str, config: EngineConfig) -> Assembly:
        assembly = assemble(path, model_id, config)

        def close() -> None:
            left.look(assembly)
            assembly.close()

        return replace(assembly, close=close)

    def make_engine(path: Path, config: EngineConfig, **parts: Any) -> Engine:
        config = replace(config, check_integrity=True, prefill_chunk=64)
        return Engine(path, config, assembler=assembler, memory_is_short=lambda: False, **parts)

    settings = Settings(port=0, model=model, kv_budget_bytes=soak.budget, admission=soak.admission)
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
    with house(soak, model, tmp_path / "data", left) as home:
        people = Household(home, soak.questions, seed=7)
        alone = people.alone()
        with MemoryWatch(every_s=0.1) as memory:
            people.live(SECONDS / len(SOAKS))
        wait_until(lambda: is_idle(home), SETTLE_LIMIT_S)
        snapshot = home.engine.snapshot
        prompts = [tokens(home, question) for question in soak.questions]
    print(people.ends, snapshot.totals, growth(memory.resident), growth(memory.mlx))
    assert people.failures == []
    assert {heard.end for heard in people.heard} == set(End)
    assert wrong(different(people.heard, alone), model, soak.questions, prompts) == []
    assert snapshot.totals.restarts == 0

    assert snapshot.totals.hits > 0
    assert snapshot.totals.evicted_pages > 0
    assert snapshot.totals.awaited_tokens > 0
    if soak.admission is THROUGHPUT:
        assert snapshot.totals.preemptions > 0

    assert snapshot.memory.running == 0
    assert snapshot.memory.reserved == 0
    assert 0 < snapshot.memory.pinned <= snapshot.memory.resident <= soak.budget
    assert left.seen
    assert (left.holders, left.num_rows, left.open_bytes) == ([], 0, 0)

    assert growth(memory.resident) <= MOST_GROWTH
    assert growth(memory.mlx) <= MOST_GROWTH


def is_idle(home: Home) -> bool:
    """Everybody has gone, and the pin that stays stands."""
    snapshot = home.engine.snapshot
    return not snapshot.num_running and not snapshot.num_waiting and snapshot.memory.pinned > 0


def tokens(home: Home, question: Question) -> Sequence[int]:
    messages = [Message(each["role"], each["content"]) for each in question.messages]
    return home.engine.format(messages).tokens


def different(heard: Sequence[Heard], alone: Sequence[Heard]) -> list[Heard]:
    """Answers that are not those of a single run, to the letter."""
    single = {each.place: (each.text, each.reason) for each in alone}
    return [
        each
        for each in heard
        if each.end is End.ANSWERED and (each.text, each.reason) != single[each.place]
    ]


def wrong(
    suspects: Sequence[Heard],
    model: Path,
    asked: Sequence[Question],
    prompts: Sequence[Sequence[int]],
) -> list[tuple[Heard, float]]:
    """Of those, the ones that no tie between two tokens explains, each with the gap."""
    if not suspects:
        return []
    loaded = engine.model.loader.load(model)
    gaps = [
        (
            each,
            gap_where_it_parts(
                loaded, prompts[each.place], each.text, asked[each.place].max_tokens
            ),
        )
        for each in suspects
    ]
    return [(each, gap) for each, gap in gaps if gap > MOST_GAP]
