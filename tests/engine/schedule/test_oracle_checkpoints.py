"""The oracle's rows of sections C, D and J on where a prefill stops, what it leaves there, and who
finds it, through the engine's own loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from engine.config import EngineConfig, Release
from engine.errors import ConfigError
from engine.request import Prompt, Request, Segment
from engine.schedule.admission import GROWTH_SLACK_TOKENS, Admission
from engine.schedule.checkpoints import DEFAULT_SPACING, NEAR_TOKENS, checkpoint_positions
from engine.schedule.chunks import chunk_tokens
from engine.schedule.job import Job
from tests.support.answers import answer_to
from tests.support.cache import make_cache
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN, STATE_BYTES, WINDOW_BYTES, FakeLayers
from tests.support.stepping import SteppedLoop


def hit(loop: SteppedLoop, asked: Request) -> int:
    """Serve a request, check its answer, and return how many tokens it found."""
    (end,) = loop.serve(asked)
    assert loop.tokens(asked.id) == answer_to(asked.prompt.tokens, asked.max_tokens)
    return end.usage.cached_tokens


def prompt(seed: int, num_tokens: int) -> list[int]:
    """Prompts of different seeds differ from their first token on."""
    return [1 + (seed + 7 * n) % 900 for n in range(num_tokens)]


def parted(shared: int, seed: int, num_tokens: int) -> list[int]:
    """Prompts of different seeds that share their first tokens."""
    return [*prompt(0, shared), *prompt(seed, num_tokens - shared)]


def with_segments(asked: Request, *ends: int) -> Request:
    """The system segment ends at the first, messages at the others."""
    starts = (0, *ends)
    segments = tuple(
        Segment("messages" if start else "system", start, end)
        for start, end in zip(starts, ends, strict=False)
    )
    return dataclasses.replace(asked, prompt=Prompt(asked.prompt.tokens, segments))


# Which positions


@pytest.mark.parametrize(
    ("row", "spacing", "shared", "blocks"),
    [
        ("D5, every 16", 16, 0, list(range(15))),
        ("D5, every 64", 64, 0, [3, 7, 11, 14]),
        ("D5, the latest", 1000, 0, [14]),
        ("D6, junction 96", 1000, 96, [5, 14]),
        ("D6, junction 100", 1000, 100, [5, 14]),
        ("D6, junction 96, every 64", 64, 96, [3, 5, 7, 11, 14]),
        ("D6, a junction outside", 1000, 512, [14]),
    ],
)
def test_positions_of_a_prompt_of_256_D5_D6(
    row: str, spacing: int, shared: int, blocks: list[int]
) -> None:
    """The rows' blocks of 16; their last, 15, is the end, which is kept when the request ends."""
    positions = checkpoint_positions(
        Prompt(tuple(range(256))), num_cached=0, num_shared=shared, unit=16, spacing=spacing
    )
    assert list(positions) == [(block + 1) * 16 for block in blocks], row


@pytest.mark.parametrize("spacing", [0, -32])
def test_a_spacing_is_positive_C17(spacing: int) -> None:
    """It need not be a multiple of anything: a part ends wherever it has to."""
    with pytest.raises(ConfigError, match="checkpoint_spacing"):
        EngineConfig(checkpoint_spacing=spacing)
    assert EngineConfig(checkpoint_spacing=33).checkpoint_spacing == 33


def test_no_state_is_asked_for_at_the_end_J7() -> None:
    """Asked at 30 and at 50 of a prompt of 50: the end belongs to the request, whose last token is
    computed with the answer's first."""
    for unit, expected in ((1, (30, 49)), (16, (30, 48))):
        tokens = Prompt(tuple(range(50)), (Segment("system", 0, 30), Segment("messages", 30, 50)))
        assert checkpoint_positions(tokens, num_cached=0, num_shared=0, unit=unit) == expected


# Chunks


def ends(num_tokens: int, limit: int, stops: Sequence[int], start: int = 0) -> list[int]:
    """Where the chunks of a prompt end."""
    found, at = [], start
    while at < num_tokens:
        stop = next((stop for stop in stops if stop > at), None)
        at += chunk_tokens(at, num_tokens - at, limit, stop)
        found.append(at)
    return found


def positions(num_tokens: int, unit: int, spacing: int, num_cached: int = 0) -> tuple[int, ...]:
    return checkpoint_positions(
        Prompt((1,) * num_tokens),
        num_cached=num_cached,
        num_shared=num_cached,
        unit=unit,
        spacing=spacing,
    )


def test_a_long_prompt_stops_at_its_last_unit_D7() -> None:
    stops = positions(10_000, 32, DEFAULT_SPACING)
    assert stops == (8192, 9984)
    assert ends(10_000, 8192, stops) == [8192, 9984, 10_000]
    assert ends(10_000, 512, stops) == [*range(512, 9729, 512), 9984, 10_000]
    assert ends(600, 512, [575]) == [575, 600]
    assert ends(600, 512, [576]) == [512, 576, 600]


def test_a_tail_without_a_stop_is_one_chunk_D8() -> None:
    assert ends(10_000, 512, (), start=9728) == [10_000]


def test_a_resumed_prompt_comes_back_to_the_grid_D9() -> None:
    """The grid is of 64 tokens and not of the chunk, so that a hit anywhere is cut like a cold
    run's next chunks."""
    stops = positions(12_000, 32, DEFAULT_SPACING, num_cached=9984)
    assert stops == (11_968,)
    assert ends(12_000, 512, stops, start=9984) == [10_496, 11_008, 11_520, 11_968, 12_000]
    assert ends(12_000, 512, stops, start=10_001)[:2] == [10_496, 11_008]


def test_a_stop_farther_than_a_chunk_takes_two_D10() -> None:
    found = ends(30_000, 8192, (11_392, 22_784))
    sizes = [after - before for before, after in zip([0, *found], found, strict=False)]
    assert sizes == [8192, 3200, 8192, 3200, 7216]


def test_stops_between_small_chunks_D11() -> None:
    stops = positions(1300, 512, 512)
    assert stops == (512, 1024)
    found = ends(1300, 384, stops)
    sizes = [after - before for before, after in zip([0, *found], found, strict=False)]
    assert sizes == [384, 128, 384, 128, 276]


# Junctions


@pytest.mark.parametrize(("unit", "junction"), [(16, 32), (1, 40)])
def test_the_second_sighting_leaves_a_state_at_the_junction_D2(unit: int, junction: int) -> None:
    """The first prompt has no state where the second leaves it; the second stops there."""
    loop = SteppedLoop(recurrent=True, match_unit=unit)
    assert hit(loop, request("first", parted(40, 1, 80))) == 0
    assert hit(loop, request("second", parted(40, 2, 48))) == 0
    assert loop.progress("second") == [junction]
    assert hit(loop, request("third", parted(40, 3, 60))) == junction


def test_a_junction_beyond_what_could_be_taken_up_is_left_too_D2() -> None:
    """The prompts share their system segment of 20 tokens, which is found, and 40 tokens more."""
    loop = SteppedLoop(recurrent=True)
    hits = [hit(loop, with_segments(request(f"r{n}", parted(60, n, 100)), 20)) for n in range(1, 4)]
    assert hits == [0, 20, 60]
    assert loop.progress("r2") == [60, 99]


@pytest.mark.parametrize("windows", [(), (32,)])
def test_a_sibling_finds_the_junction_to_the_unit_D29(windows: tuple[int, ...]) -> None:
    """24 shared tokens and 16 more, hits on multiples of 4. Without drafts nothing is taken off."""
    loop = SteppedLoop(windows=windows, recurrent=True, match_unit=4)
    assert hit(loop, request("owner", parted(24, 1, 40))) == 0
    assert hit(loop, request("follower", parted(24, 2, 40))) == 0
    assert hit(loop, request("sibling", parted(24, 3, 40))) == 24


@pytest.mark.parametrize(("num_answer", "restored"), [(4, 1536), (1, 1600)])
def test_a_longer_prompt_finds_the_last_unit_of_a_shorter_D30(
    num_answer: int, restored: int
) -> None:
    """After an answer the end of the request is no longer the end of the prompt."""
    loop = SteppedLoop(recurrent=True, page_tokens=1024, match_unit=64)
    tokens = prompt(1, 1600)
    hit(loop, request("first", tokens, num_answer))
    assert hit(loop, request("longer", [*tokens, *prompt(500, 500)])) == restored


def test_a_state_is_found_from_the_step_after_its_own_D15() -> None:
    loop = SteppedLoop(recurrent=True, release=Release.INDEPENDENT)
    owner = prompt(1, 80)
    early, late = [*owner[:64], *prompt(2, 20)], [*owner[:64], *prompt(3, 20)]
    loop.submit(with_segments(request("owner", owner), 64), request("same step", early))
    loop.step()
    assert loop.progress("owner") == [64]
    assert loop.started("same step").cached_tokens == 0
    loop.submit(request("next step", late))
    loop.step()
    assert loop.started("next step").cached_tokens == 64
    loop.finish_all()
    for name, tokens in (("owner", owner), ("same step", early), ("next step", late)):
        assert loop.tokens(name) == answer_to(tokens, 4)


@pytest.mark.parametrize(
    ("recurrent", "num_tokens", "left"),
    [
        (False, 5, 1),
        (False, 40, 1),
        (True, 5, 5),
        (True, NEAR_TOKENS, NEAR_TOKENS),
        (True, NEAR_TOKENS + 1, 1),
        (True, 40, 1),
    ],
)
def test_what_a_repeated_prompt_computes_J3(recurrent: bool, num_tokens: int, left: int) -> None:
    """So few tokens that they take as long as one are not worth a state before the last."""
    loop = SteppedLoop(recurrent=recurrent)
    hit(loop, request("first", prompt(1, num_tokens)))
    assert num_tokens - hit(loop, request("again", prompt(1, num_tokens))) == left


# Windows


def test_a_window_is_restored_and_not_computed_again_C37_C38() -> None:
    """The row's peer keeps no windows and computes 36 of 100 tokens again. Here one page's rest."""
    loop = SteppedLoop(windows=(32,), match_unit=16)
    tokens = prompt(1, 100)
    assert hit(loop, request("first", tokens)) == 0
    before = loop.runner.num_computed
    assert hit(loop, request("again", tokens, 1)) == 96
    assert loop.runner.num_computed - before == 4


def test_kept_windows_outlive_other_requests_C21() -> None:
    """Groups of 512, 128 and 8 tokens, a checkpoint every 1,024; the first 1,800 of 4,096 tokens
    are asked for again, before and after a request that has nothing to do with them."""
    loop = SteppedLoop(windows=(8, 128, 512), prefill_chunk=512, storage_step=1)
    tokens = prompt(1, 4096)
    found = []
    for name, asked in (("first", tokens), ("unrelated", prompt(500, 4096))):
        assert hit(loop, with_segments(request(name, asked, 1), 1024, 2048, 3072)) == 0
        match = loop.cache.match(tokens[:1800], limit=1799)
        found.append(match.num_tokens)
        (view,) = match.views
        assert [view.part.storage.window_tokens(group) for group in range(3)] == [7, 127, 511]
        assert view.part.storage.num_bytes == 1024 * BYTES_PER_TOKEN + 645 * WINDOW_BYTES
    assert found == [1024, 1024]
    assert hit(loop, request("replay", tokens[:1800])) == 1024
    assert hit(loop, request("replay again", tokens[:1800])) == 1799


# Memory


def test_states_of_many_requests_obey_their_limit_J24() -> None:
    """24 requests that share nothing, each with two states and one at its end."""
    most = 10 * STATE_BYTES
    loop = SteppedLoop(recurrent=True, budget_tokens=100_000, checkpoint_share=0.0005)
    assert loop.cache.most_checkpoint_bytes == most
    kept = []
    for n in range(24):
        hit(loop, with_segments(request(f"r{n}", prompt(37 * n, 60), 8), 30))
        kept.append(loop.cache.checkpoint_bytes)
    assert max(kept) == kept[-1] == most
    assert kept[:3] == [3 * STATE_BYTES, 6 * STATE_BYTES, 9 * STATE_BYTES]
    states = sum(part.storage.state_bytes for part in loop.cache.parts)
    assert states == most
    assert hit(loop, request("r23, again", prompt(37 * 23, 60))) == 59


@pytest.mark.parametrize("windows", [(), (32,)])
def test_many_requests_within_little_memory_J24(windows: tuple[int, ...]) -> None:
    """The budget itself holds them, whatever the limit of checkpoints: three fit at a time."""
    need = FakeLayers(windows, recurrent=True).cost.append_bytes(68 + GROWTH_SLACK_TOKENS)
    loop = SteppedLoop(
        windows=windows, recurrent=True, budget_tokens=3 * need // BYTES_PER_TOKEN, storage_step=1
    )
    for n in range(24):
        loop.submit(request(f"r{n}", prompt(37 * n, 60), 8))
    while not loop.idle:
        loop.step()
        assert loop.cache.used_bytes <= loop.budget
    assert loop.counters.evicted_bytes > 0
    for n in range(24):
        assert loop.tokens(f"r{n}") == answer_to(prompt(37 * n, 60), 8)


def waiting(tokens: Sequence[int]) -> Job:
    return Job(request("waiting", list(tokens), 0), 0.0, 0)


def test_a_window_asks_for_no_more_than_a_tail_ever_holds_A24() -> None:
    """In blocks of 16, full attention of 512 tokens takes 32, and an eighth more for the empty room
    that checkpoints leave; a window of 64 takes at most 13. In a pool of 78 that leaves room for
    925 tokens instead of 587."""
    most = 13 * 16
    layers = FakeLayers(windows=(64,))
    cost = dataclasses.replace(
        layers.cost,
        bytes_per_token=1,
        windows=(dataclasses.replace(layers.cost.windows[0], bytes_per_token=1, most_tokens=most),),
    )
    assert cost.append_bytes(512) == (32 + 4 + 13) * 16
    assert cost.append_bytes(most) == most + most // 8 + most
    assert cost.tokens_within(78 * 16) == 925

    budget = layers.cost.append_bytes(512 + GROWTH_SLACK_TOKENS)
    admission = Admission(make_cache(windows=(64,)), budget)
    assert admission.shortfall_bytes(waiting(prompt(1, 512)), []) == 0
    one_more = layers.cost.append_bytes(513 + GROWTH_SLACK_TOKENS) - budget
    assert admission.shortfall_bytes(waiting(prompt(1, 513)), []) == one_more >= BYTES_PER_TOKEN


def test_a_hit_counts_what_it_takes_from_the_evictable_C35() -> None:
    """Of 20 pages 10 are found, in parts that end at 80, 144 and 160: their full KV stops being
    evictable. The windows in reach of 160 are in the price of a row, so a hit is never dearer than
    a miss. Held by a pin they are that one's, too."""
    loop = SteppedLoop(windows=(32,), match_unit=16, storage_step=1)
    tokens = prompt(1, 320)
    cost = loop.cache.cost
    cold = loop.admission.shortfall_bytes(waiting(tokens), [])
    assert cold == cost.append_bytes(320 + GROWTH_SLACK_TOKENS) - loop.budget
    loop.serve(with_segments(request("half", tokens[:160], 0), 80))
    found = loop.admission.shortfall_bytes(waiting(tokens), [])
    seen = 160 * BYTES_PER_TOKEN
    assert found == seen + cost.append_bytes(160 + GROWTH_SLACK_TOKENS) - loop.budget
    assert found < cold
    loop.cache.hold(loop.cache.match(tokens), "pin")
    pinned = (31 + 16) * WINDOW_BYTES
    assert loop.admission.shortfall_bytes(waiting(tokens), []) == found + pinned
