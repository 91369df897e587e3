"""Random histories of the prefix cache, for every kind of layers: contents are always right, what
is needed to go on is always there, nothing in use is ever lost, the books balance."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.cache.part import Hold
from engine.cache.row import Row
from engine.cache.standing import Standing
from engine.cache.worth import ByWorth
from engine.config import Eviction
from tests.support.cache import compute, make_cache
from tests.support.effort import LONG, long_histories
from tests.support.fake_runner import (
    BYTES_PER_TOKEN,
    FakeStorage,
    check_restorable,
    check_states,
    states_of,
)

PAGE = 4
SALTS = ("", "guest")
CLIENTS = ("", "desk", "agent")
BASES = (
    [1, 2, 2, 1, 2, 1, 1, 1, 2, 2] * 4,
    [1, 2, 2, 1, 2, 1, 1, 1, 2, 2] * 2 + [2, 1] * 10,  # leaves the first at 20
    [1, 2, 2, 1, 2, 1] + [1, 1, 2, 1] * 8,  # and this one at 6, inside a page
)
TOKENS = st.builds(
    lambda base, length, end: BASES[base][:length] + end,
    st.integers(0, 2),
    st.integers(1, 38),
    st.lists(st.integers(1, 2), max_size=8),
)
KINDS = [
    ((), False),  # full attention only
    ((5,), False),
    ((2, 9), False),
    ((), True),
    ((6,), True),
]


def common(a: list[int], b: list[int]) -> int:
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def all_states(row: Row) -> list[int]:
    """What a row stands on, and what it has computed."""
    storage = row.tail.storage
    assert isinstance(storage, FakeStorage)
    return [*states_of(row.hold.views), *storage.kv]


def stands_alone(row: Row) -> bool:
    """Whether nobody else needs the last part that a row stands on, at whose end it has begun."""
    if not row.hold.views or not row.tail.storage.num_tokens:
        return False
    last = row.hold.views[-1]
    return (
        last.end == last.part.end
        and last.part.children == {row.tail}
        and list(last.part.holds) == [row.hold]
    )


class PrefixCacheMachine(RuleBasedStateMachine):
    @initialize(
        unit=st.sampled_from([1, 2, PAGE]),
        step=st.sampled_from([1, 8]),
        kind=st.sampled_from(KINDS),
        prefilled_only=st.sampled_from([False, False, False, True]),
        most_checkpoint_bytes=st.sampled_from([None, None, None, 0, 120]),
        eviction=st.sampled_from(Eviction),
        most_client_bytes=st.sampled_from([None, 100]),
    )
    def begin(
        self,
        unit: int,
        step: int,
        kind: tuple[tuple[int, ...], bool],
        prefilled_only: bool,
        most_checkpoint_bytes: int | None,
        eviction: Eviction,
        most_client_bytes: int | None,
    ) -> None:
        windows, recurrent = kind
        self.cache = make_cache(
            PAGE,
            unit,
            step=step,
            windows=windows,
            recurrent=recurrent,
            prefilled_only=prefilled_only,
            most_checkpoint_bytes=most_checkpoint_bytes,
            eviction=eviction,
            most_client_bytes=most_client_bytes,
        )
        self.unit = unit
        self.prefilled_only = prefilled_only
        self.live: dict[Row, str] = {}
        self.held: dict[Hold, tuple[list[int], int, str]] = {}
        # Everything published, and every place left to take up from, since the last eviction.
        self.known: list[tuple[list[int], str]] = []
        self.places: list[tuple[list[int], str]] = []
        self.evicted = most_checkpoint_bytes is not None and not self.cache.cost.dense

    def row(self, pick: int) -> Row:
        return list(self.live)[pick % len(self.live)]

    @rule(
        tokens=TOKENS,
        salt=st.sampled_from(SALTS),
        num_computed=st.integers(0, 40),
        client=st.sampled_from(CLIENTS),
        standing=st.sampled_from(Standing),
    )
    def open_row(
        self,
        tokens: list[int],
        salt: str,
        num_computed: int,
        client: str = "",
        standing: Standing = Standing.ORDINARY,
    ) -> None:
        least, most = self.expected_hit(tokens[:-1], salt)
        row = self.cache.open_row(
            tokens, limit=len(tokens) - 1, salt=salt, client=client, standing=standing
        )
        self.live[row] = salt
        assert row.num_cached <= row.num_shared <= len(tokens) - 1
        assert row.num_cached <= most
        if not self.evicted:
            assert row.num_cached >= least
        check_states(row.hold.views, tokens[: row.num_cached])
        check_restorable(row)
        self.advance(row, num_computed)

    @rule(tokens=TOKENS, answer=st.lists(st.integers(1, 2), max_size=9), stop=st.integers(0, 39))
    def serve(self, tokens: list[int], answer: list[int], stop: int) -> None:
        """A whole request, with a checkpoint on its way."""
        self.open_row(tokens, "", 0)
        row = self.row(-1)
        if row.num_computed < stop < len(tokens):
            self.advance(row, stop - row.num_computed)
            self.checkpoint(-1)
        self.advance(row, row.num_uncomputed)
        self.first_token(-1)
        for token in answer:
            row.tokens.append(token)
            self.advance(row, 1)
        self.close_row(-1)

    @precondition(lambda self: self.live)
    @rule(pick=st.integers(0, 9), num_tokens=st.integers(1, 30))
    def compute(self, pick: int, num_tokens: int) -> None:
        row = self.row(pick)
        if not row.num_uncomputed:
            row.tokens.append(1 + num_tokens % 2)
        self.advance(row, num_tokens)

    def advance(self, row: Row, num_tokens: int) -> None:
        compute(self.cache, row, num_tokens)
        self.learn(row, row.num_computed // PAGE * PAGE)

    @precondition(lambda self: self.live)
    @rule(pick=st.integers(0, 9))
    def first_token(self, pick: int) -> None:
        row = self.row(pick)
        self.cache.publish_partial(row)
        self.learn(row, row.num_computed)

    @precondition(lambda self: self.live)
    @rule(pick=st.integers(0, 9))
    def checkpoint(self, pick: int) -> None:
        row = self.row(pick)
        computed = row.tail.storage.num_tokens
        self.cache.checkpoint(row)
        if computed:
            self.learn_place(row)

    @precondition(lambda self: self.live)
    @rule(pick=st.integers(0, 9))
    def close_row(self, pick: int) -> None:
        row = self.row(pick)
        salt = self.live[row]
        computed = row.tail.storage.num_tokens
        self.cache.close_row(row)
        self.learn(row, row.num_computed)
        if computed:
            self.learn_place(row)
        del self.live[row]
        tokens = list(row.tokens)[: row.num_computed]
        least, most = self.expected_hit(tokens, salt)
        found = self.cache.match(tokens, salt=salt).num_tokens
        assert found <= most
        if not self.evicted:
            assert found >= least

    @precondition(lambda self: self.live)
    @rule(pick=st.integers(0, 9))
    def abandon_row(self, pick: int) -> None:
        row = self.row(pick)
        self.learn(row, row.num_computed)  # what others needed of it before stays
        self.cache.abandon_row(row)
        del self.live[row]
        self.evicted = True

    @rule(tokens=TOKENS, salt=st.sampled_from(SALTS), keep_checkpoint=st.booleans())
    def hold(self, tokens: list[int], salt: str, keep_checkpoint: bool) -> None:
        match = self.cache.match(tokens, salt=salt)
        hold = self.cache.hold(match, "pin", keep_checkpoint=keep_checkpoint)
        found = self.cache.cost.dense or hold.checkpoint is not None
        self.held[hold] = (tokens, match.num_tokens if found else 0, salt)

    @precondition(lambda self: self.held)
    @rule(pick=st.integers(0, 9))
    def release(self, pick: int) -> None:
        hold = list(self.held)[pick % len(self.held)]
        self.cache.release(hold)
        del self.held[hold]

    @rule(num_tokens=st.integers(1, 60))
    def reclaim(self, num_tokens: int) -> None:
        used, held = self.cache.used_bytes, self.cache.held_bytes()
        wanted = num_tokens * BYTES_PER_TOKEN
        given = self.cache.reclaim(wanted)
        assert given.num_bytes == used - self.cache.used_bytes
        assert given.num_bytes >= wanted or self.cache.used_bytes <= held
        assert sum(each.num_pages for each in given.evicted) == given.num_pages
        assert sum(each.num_bytes for each in given.evicted) == given.num_bytes
        self.evicted = self.evicted or given.num_pages > 0 or given.num_bytes > 0

    @rule(most_parts=st.integers(1, 3))
    def compact(self, most_parts: int) -> None:
        used, parts = self.cache.used_bytes, len(self.cache.parts)
        joined = self.cache.compact(10_000, most_parts)
        assert len(self.cache.parts) == parts - joined
        assert self.cache.used_bytes <= used

    @precondition(lambda self: self.live)
    @rule(pick=st.integers(0, 9))
    def take_over(self, pick: int) -> None:
        row = self.row(pick)
        used, parts, states = self.cache.used_bytes, len(self.cache.parts), all_states(row)
        views, alone = list(row.hold.views), stands_alone(row)
        taken = self.cache.take_over(row, 10_000)
        assert taken <= alone
        assert alone == taken or self.prefilled_only or not self.cache.cost.dense
        assert len(self.cache.parts) == parts - taken
        assert self.cache.used_bytes <= used
        assert row.hold.views == (views[:-1] if taken else views)
        assert all_states(row) == states

    @rule(often=st.integers(0, 4))
    def clear(self, often: int) -> None:
        if often:
            return
        cleared = self.cache.clear()
        assert cleared == (not self.live)
        if cleared and not self.held:
            assert self.cache.used_bytes == self.cache.num_pages == self.cache.num_checkpoints == 0
        self.evicted = self.evicted or cleared

    @invariant()
    def sound(self) -> None:
        if not hasattr(self, "cache"):
            return
        self.cache.check_integrity()
        for row in self.live:
            check_states(row.hold.views, list(row.tokens)[: row.tail.base])
            check_restorable(row)
        for hold, (tokens, num_tokens, salt) in self.held.items():
            check_states(hold.views, tokens[: hold.end])
            match = self.cache.match(tokens, salt=salt)
            check_states(match.views, tokens[: match.num_tokens])
            assert len(states_of(match.views)) == match.num_tokens
            assert match.num_tokens >= num_tokens, "a held prefix is always found"

    @invariant()
    def nothing_outranks_what_it_stands_on(self) -> None:
        """Once no row is about to say what it used."""
        if not hasattr(self, "cache") or self.live:
            return
        policy = ByWorth(now=lambda: 0.0)
        for part in self.cache.parts:
            for page in part.pages.values():
                before = page.parent
                if before is not None and before.part is part:
                    own, its = (policy.rank(of, 0.0, over_share=False) for of in (page, before))
                    assert own <= its

    def learn(self, row: Row, num_tokens: int) -> None:
        known = row.num_prompt if self.prefilled_only else num_tokens
        self.known.append((list(row.tokens)[: min(num_tokens, known)], self.live.get(row, "")))

    def learn_place(self, row: Row) -> None:
        if self.cache.cost.dense:
            return
        if not (self.prefilled_only and row.num_computed > row.num_prompt):
            tokens = list(row.tokens)[: row.num_computed]
            self.places.append((tokens, self.live[row]))
            self.learn(row, row.num_computed)

    def expected_hit(self, tokens: list[int], salt: str) -> tuple[int, int]:
        """The least and the most that must be found: the longest common prefix with anything
        published, cut to the unit, where every token's KV stands alone; else at least the last
        place left on the way."""
        known = (common(tokens, known) for known, of in self.known if of == salt)
        most = max(known, default=0)
        if self.cache.cost.dense:
            exact = most // self.unit * self.unit
            return (0 if self.prefilled_only else exact), exact
        least = max(
            (len(at) for at, of in self.places if of == salt and tokens[: len(at)] == at), default=0
        )
        computed = (common(tokens, list(row.tokens)[: row.num_computed]) for row in self.live)
        return least, max([most, *computed])  # a part that somebody else needs ends a place, too


PrefixCacheMachine.TestCase.settings = long_histories(250, steps=50)
TestPrefixCache = pytest.mark.timeout(3600 if LONG else 120)(PrefixCacheMachine.TestCase)
