"""Random histories of the prefix cache: contents are always right, nothing in use is ever lost, the
books balance."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from engine.cache.part import Hold
from engine.cache.row import Row
from tests.support.cache import compute, make_cache
from tests.support.fake_runner import BYTES_PER_TOKEN, check_states, states_of

PAGE = 4
SALTS = ("", "guest")
TOKENS = st.lists(st.integers(1, 2), min_size=1, max_size=40)


def common(a: list[int], b: list[int]) -> int:
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


class PrefixCacheMachine(RuleBasedStateMachine):
    rows = Bundle("rows")
    holds = Bundle("holds")

    @initialize(unit=st.sampled_from([1, 2, PAGE]), step=st.sampled_from([1, 8]))
    def begin(self, unit: int, step: int) -> None:
        self.cache = make_cache(PAGE, unit, step=step)
        self.unit = unit
        self.live: dict[Row, str] = {}
        self.held: dict[Hold, tuple[list[int], int, str]] = {}
        self.known: list[tuple[list[int], str]] = []  # everything published since the last eviction
        self.evicted = False

    @rule(target=rows, tokens=TOKENS, salt=st.sampled_from(SALTS))
    def open_row(self, tokens: list[int], salt: str) -> Row:
        expected = self.expected_hit(tokens[:-1], salt)
        row = self.cache.open_row(tokens, limit=len(tokens) - 1, salt=salt)
        self.live[row] = salt
        assert row.num_cached <= len(tokens) - 1
        if not self.evicted:
            assert row.num_cached == expected
        check_states(row.hold.views, tokens[: row.num_cached])
        return row

    @rule(row=rows, num_tokens=st.integers(1, 12))
    def compute(self, row: Row, num_tokens: int) -> None:
        if row in self.live:
            compute(self.cache, row, num_tokens)
            self.learn(row, row.num_computed // PAGE * PAGE)

    @rule(row=rows, token=st.integers(1, 2))
    def generate(self, row: Row, token: int) -> None:
        if row in self.live:
            row.tokens.append(token)

    @rule(row=rows)
    def first_token(self, row: Row) -> None:
        if row in self.live:
            self.cache.publish_partial(row)
            self.learn(row, row.num_computed)

    @rule(row=consumes(rows))
    def close_row(self, row: Row) -> None:
        salt = self.live[row]
        self.cache.close_row(row)
        self.learn(row, row.num_computed)
        del self.live[row]
        if not self.evicted:
            tokens = list(row.tokens)[: row.num_computed]
            assert self.cache.match(tokens, salt=salt).num_tokens == self.expected_hit(tokens, salt)

    @rule(target=holds, tokens=TOKENS, salt=st.sampled_from(SALTS))
    def hold(self, tokens: list[int], salt: str) -> Hold:
        match = self.cache.match(tokens, salt=salt)
        hold = self.cache.hold(match, "pin")
        self.held[hold] = (tokens, match.num_tokens, salt)
        return hold

    @rule(hold=consumes(holds))
    def release(self, hold: Hold) -> None:
        self.cache.release(hold)
        del self.held[hold]

    @rule(num_tokens=st.integers(1, 60))
    def reclaim(self, num_tokens: int) -> None:
        used, held = self.cache.used_bytes, self.cache.held_bytes()
        wanted = num_tokens * BYTES_PER_TOKEN
        given = self.cache.reclaim(wanted)
        assert given.num_bytes == used - self.cache.used_bytes
        assert given.num_bytes >= wanted or self.cache.used_bytes <= held
        self.evicted = self.evicted or given.num_pages > 0 or given.num_bytes > 0

    @rule()
    def clear(self) -> None:
        cleared = self.cache.clear()
        assert cleared == (not self.live)
        if cleared and not self.held:
            assert self.cache.used_bytes == self.cache.num_pages == 0
            self.known, self.evicted = [], False
        elif cleared:
            self.evicted = True

    @invariant()
    def sound(self) -> None:
        if not hasattr(self, "cache"):
            return
        self.cache.check_integrity()
        for row in self.live:
            check_states(row.hold.views, list(row.tokens)[: row.tail.base])
        for hold, (tokens, num_tokens, salt) in self.held.items():
            check_states(hold.views, tokens[:num_tokens])
            match = self.cache.match(tokens, salt=salt)
            check_states(match.views, tokens[: match.num_tokens])
            assert len(states_of(match.views)) == match.num_tokens
            assert match.num_tokens >= num_tokens, "a held prefix is always found"

    def learn(self, row: Row, num_tokens: int) -> None:
        self.known.append((list(row.tokens)[:num_tokens], self.live.get(row, "")))

    def expected_hit(self, tokens: list[int], salt: str) -> int:
        """Longest common prefix with anything published, cut to the unit; a partly filled page only
        by its unit."""
        best = max((common(tokens, known) for known, of in self.known if of == salt), default=0)
        return best // self.unit * self.unit


PrefixCacheMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None
)
TestPrefixCache = PrefixCacheMachine.TestCase
