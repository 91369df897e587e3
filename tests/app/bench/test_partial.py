"""The measuring of `ondol bench partial`, over an engine that takes a millisecond a token."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.bench import partial
from app.bench.errors import BenchError
from app.bench.local_engine import Reply
from app.bench.partial import PartialBench, PartialResults, Plan, known_by_blocks

PLAN = Plan(1_000, 20, (16, 64, 128, 2_048), pairs=3, sighted_tokens=(200, 40), sightings=2)


class PricedEngine:
    """Knows every prompt to its end, as a cache with checkpoints would. A token costs 1 ms, and a
    request that may use the cache 1 ms more."""

    def __init__(self) -> None:
        self.known: dict[str, list[tuple[int, ...]]] = {}
        self.calls: list[tuple[str, int]] = []
        self.forgetful = False

    def ask(self, tokens: Sequence[int], salt: str) -> Reply:
        self.calls.append((salt, len(tokens)))
        known = [] if self.forgetful else self.known.setdefault(salt, [])
        hits = [len(end) for end in known if tuple(tokens[: len(end)]) == end]
        # The last token is always computed.
        found = min(max(hits, default=0), len(tokens) - 1)
        known.append(tuple(tokens))
        return Reply(len(tokens), found, 0.001 * (len(tokens) - found + 1))

    def fill(self, tokens: Sequence[int], salt: str) -> None:
        self.known.setdefault(salt, []).append(tuple(tokens))

    def ask_without_cache(self, tokens: Sequence[int]) -> Reply:
        self.calls.append(("cache off", len(tokens)))
        return Reply(len(tokens), 0, 0.001 * len(tokens))

    def plain_cold(self, tokens: Sequence[int]) -> float:
        self.calls.append(("plain", len(tokens)))
        return 0.0005 * len(tokens)


@pytest.fixture(autouse=True)
def no_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "settle", lambda: None)


def measured(engine: PricedEngine, said: list[str] | None = None) -> PartialResults:
    say = said.append if said is not None else lambda line: None
    return PartialBench(engine, engine.plain_cold, 50, say).run(PLAN)


def test_blocks_that_know_equally_much_are_measured_together() -> None:
    blocks = (2_048, 16, 32, 64, 128, 256, 512, 1_024)
    assert known_by_blocks(10_000, blocks) == {
        10_000: (16,),
        9_984: (32, 64, 128, 256),
        9_728: (512,),
        9_216: (1_024,),
        8_192: (2_048,),
    }
    assert known_by_blocks(100, (128, 16)) == {96: (16,), 0: (128,)}


def test_a_cold_prompt_is_compared_with_no_cache_and_plain_mlx_lm() -> None:
    cold = measured(PricedEngine()).cold
    assert (cold.prompt_tokens, len(cold.pairs)) == (1_000, 3)
    assert cold.ondol_s == pytest.approx(1.001)
    assert cold.over_no_cache.median == pytest.approx(1.001)
    assert cold.over_plain.median == pytest.approx(2.002)
    assert cold.over_plain.n == 3


def test_whole_blocks_compute_what_lies_behind_the_last_one() -> None:
    blocks = measured(PricedEngine()).blocks
    assert [(result.blocks, result.known_tokens) for result in blocks] == [
        ((16,), 992),
        ((64,), 960),
        ((128,), 896),
        ((2_048,), 0),
    ]
    assert {result.prompt_tokens for result in blocks} == {1_020}
    assert {result.partial_found for result in blocks} == {1_000}
    assert [round(1000 * result.blocks_s) for result in blocks] == [29, 61, 125, 1021]
    assert {round(1000 * result.partial_s) for result in blocks} == {21}
    assert blocks[1].over_blocks.median == pytest.approx(21 / 61)


def test_the_second_sighting_finds_all_but_the_last_token() -> None:
    short, long = measured(PricedEngine()).sightings
    assert (short.prompt_tokens, short.found_tokens, long.found_tokens) == (40, 39, 199)
    assert long.found_share == pytest.approx(0.995)
    assert long.over_no_cache.median == pytest.approx(201 / 200)
    assert (long.first_s, long.second_s) == (pytest.approx(0.201), pytest.approx(0.002))


def test_the_order_of_the_sides_turns_from_pair_to_pair() -> None:
    engine = PricedEngine()
    measured(engine)
    cold = [side for side, size in engine.calls if size == 1_000]
    first = cold[0]
    assert cold[:3] == [first, "cache off", "plain"]
    assert cold[3:5] == ["plain", "cache off"]
    assert cold[5] not in (first, "cache off", "plain")
    followed = [side for side, size in engine.calls if size == 1_020]
    assert (followed[0] == first, followed[1] == first) == (False, True)
    assert (followed[8] == cold[5], followed[9] == cold[5]) == (True, False)


def test_progress_is_told() -> None:
    said: list[str] = []
    measured(PricedEngine(), said)
    assert said[0] == "40 tokens: first 41 ms, second 2 ms"
    assert said[-1] == (
        "pair 3 of 3, cold 1.00 s, without cache 1.00 s, plain mlx-lm 0.50 s, "
        "then whole blocks 1.02 s, partial 21 ms"
    )


def test_a_prompt_that_was_lost_ends_the_bench() -> None:
    engine = PricedEngine()
    engine.forgetful = True
    with pytest.raises(BenchError, match=r"0 were found where 992 are known.*KV budget"):
        measured(engine)


def test_a_cold_prompt_that_is_found_ends_the_bench() -> None:
    class Knowing(PricedEngine):
        def ask(self, tokens: Sequence[int], salt: str) -> Reply:
            return Reply(len(tokens), 7, 0.001)

    with pytest.raises(BenchError, match=r"40 tokens was to be cold, but 7 of them were found"):
        measured(Knowing())
