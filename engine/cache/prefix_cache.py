"""The prefix cache: finds, shares and publishes KV.

Everything here runs on the engine thread between two forward steps. Nothing here touches an array:
storages are opaque, so the whole policy runs and is tested without a model.
"""

from __future__ import annotations

import logging
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.cache import integrity
from engine.cache.checkpoint import Checkpoint
from engine.cache.compaction import MOST_PARTS, can_take_over, find_pair
from engine.cache.convergence import LongestHit, at_states, converge, join_runs, over_window
from engine.cache.cost import KVCost
from engine.cache.evicted import Evicted, Reason
from engine.cache.eviction import EvictionPolicy, LeastRecentlyUsed
from engine.cache.identity import ModelIdentity
from engine.cache.index import PageIndex, Walk, is_free_and_hot
from engine.cache.kept import HALF_LIFE_S, Use
from engine.cache.page import Page
from engine.cache.part import Hold, Part, Storage, View
from engine.cache.reclaim import Reclaimed, Reclaimer
from engine.cache.row import TOKEN_TYPE, Row
from engine.cache.shares import Shares
from engine.cache.standing import Standing
from engine.cache.store import Store
from engine.errors import ConfigError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Match:
    """The longest known prefix of some tokens that can be taken up: `num_tokens` of them, to be
    read through `views`.

    `node` is the deepest full page inside the match, `last` the page its last tokens lie in (the
    same one, or a child of it that is used in part), `checkpoint` what the match ends at, if
    anything. `num_shared` tokens are known to the index, which may be more.
    """

    num_tokens: int
    node: Page
    last: Page
    views: tuple[View, ...]
    num_shared: int
    checkpoint: Checkpoint | None = None


class PrefixCache:
    """Finds, shares, publishes and evicts KV.

    `new_storage` makes an empty storage for an open part at position 0. `cost` prices it. With
    `enabled` false nothing is matched or published, rows only run. With `prefilled_only`, only KV
    that was computed as part of a prompt is found again. `most_checkpoint_bytes` limits what
    windows and recurrent states of sealed parts may take. What a client keeps beyond
    `most_client_bytes` goes before what others keep, if the policy heeds it. `now` tells seconds.
    Raises ConfigError where `match_unit` does not divide `page_tokens`.
    """

    def __init__(
        self,
        identity: ModelIdentity,
        new_storage: Callable[[], Storage],
        *,
        cost: KVCost,
        page_tokens: int = 16,
        match_unit: int = 1,
        enabled: bool = True,
        prefilled_only: bool = False,
        most_checkpoint_bytes: int | None = None,
        policy: EvictionPolicy | None = None,
        most_client_bytes: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if page_tokens <= 0 or match_unit <= 0 or page_tokens % match_unit:
            raise ConfigError(
                f"a match unit of {match_unit} does not divide pages of {page_tokens}"
            )
        self.page_tokens = page_tokens
        self.match_unit = match_unit
        self.cost = cost
        self.enabled = enabled
        self.most_checkpoint_bytes = most_checkpoint_bytes
        self.rows: dict[Part, Row] = {}  # the owner of each open part
        self._prefilled_only = prefilled_only
        self._new_storage = new_storage
        self._now = now
        self._index = PageIndex(identity, page_tokens, Shares(cost, most_client_bytes))
        self._store = Store(self._index, cost, partial_pages=match_unit < page_tokens)
        self._reclaimer = Reclaimer(self._store, policy or LeastRecentlyUsed())

    @property
    def parts(self) -> set[Part]:
        return self._store.parts

    @property
    def roots(self) -> Mapping[bytes, Page]:
        return self._index.roots

    @property
    def num_pages(self) -> int:
        return self._index.num_pages

    @property
    def num_checkpoints(self) -> int:
        return self._index.num_checkpoints

    # Finding

    def match(self, tokens: Sequence[int], limit: int | None = None, salt: str = "") -> Match:
        """Longest prefix of `tokens`, of at most `limit` tokens, that can be taken up. Changes
        nothing.

        Full attention alone ends anywhere, down to a multiple of the match unit. Where other layers
        have conditions of their own, the longest prefix is taken on which all agree, on the chain
        of the known tokens or on that of any checkpoint on the way.
        """
        root = self._index.find_root(salt)
        if root is None or not self.enabled:
            root = root or Page(None, b"", None, None)
            return Match(0, root, root, (), 0)
        limit = len(tokens) if limit is None else min(limit, len(tokens))
        walk = self._index.walk(root, tokens[:limit], prefilled_only=self._prefilled_only)
        if self.cost.dense:
            return self._dense_match(walk)
        return self._agreed_match(walk)

    def hold(self, match: Match, owner: str, *, keep_checkpoint: bool = False) -> Hold:
        """Keep a match from eviction until the hold is released with `release`; with
        `keep_checkpoint`, so that it can be taken up again."""
        self._index.clock += 1
        use = Use(self._index.clock, self._now(), match.last.owner, match.last.standing)
        hold = self._hold(match, owner, use)
        if keep_checkpoint and match.checkpoint is not None:
            hold.keep(match.checkpoint)
        return hold

    def hold_row(self, row: Row, owner: str) -> Hold:
        """Keep everything that a row of the common namespace has computed, so that it can be taken
        up at its end."""
        self.publish_partial(row)
        if not self.cost.dense and row.tail.storage.num_tokens:
            self._seal(row)
        match = self.match(row.tokens[: row.num_computed])
        hold = self.hold(match, owner, keep_checkpoint=True)
        self._limit_checkpoints()
        return hold

    def release(self, hold: Hold) -> None:
        """Let a hold go; parts that nobody can find any more are dropped at once."""
        for part in hold.release():
            self._store.collect(part)

    # Running

    def open_row(
        self,
        tokens: Sequence[int],
        *,
        limit: int | None = None,
        salt: str = "",
        owner: str = "",
        client: str = "",
        standing: Standing = Standing.ORDINARY,
        goes_on: bool = False,
    ) -> Row:
        """A row for `tokens` on the longest known prefix of at most `limit` tokens. Where a client
        extends what it alone has used, or somebody goes on from an answer, that prefix is a
        session's; what is added to an answer is, too. A row that `goes_on` had lost its place, and
        finds what is its own: that is no hit (S3-7)."""
        root = self._index.root(salt)
        match = self.match(tokens, limit, salt)
        answers = not goes_on and standing >= Standing.ORDINARY and _takes_up_answer(match)
        comes_back = match.last.owner == client and _extends(match, len(tokens))
        if answers:
            standing = max(standing, Standing.SESSION)
        found_by = standing
        if standing is Standing.ORDINARY and comes_back and not goes_on:
            found_by = Standing.SESSION
        self._index.clock += 1
        use = Use(self._index.clock, self._now(), client, found_by, hit=not goes_on)
        hold = self._hold(match, owner, use)
        row = Row(tokens, root, hold, self._new_tail(hold, len(tokens)), client, standing)
        row.gathered = match.last.heat if answers else None
        row.node = match.node
        row.num_shared = match.num_shared
        if self.enabled and standing > Standing.BACKGROUND and not goes_on:
            known = max(row.num_cached, row.num_shared)
            row.num_lost = min(self._index.asked(row, use.at_s), row.num_prompt - known)
            row.num_new = row.num_prompt - known - row.num_lost
            row.cold = self._index.ghosts.thrashes and not answers
        self._index.use_root(root)
        self.rows[row.tail] = row
        self._limit_checkpoints()  # somebody else's tail may have become a part
        return row

    def publish(self, row: Row) -> None:
        """Make every full page that stands in the row's KV findable. Call only after the step that
        computed it has been evaluated (S0-4, S0-5)."""
        if not self.enabled:
            return
        if not row.node.attached:
            row.node = row.root
        self._index.clock += 1
        use = self._use_by(row)
        row.hold.row_at = row.num_computed
        size = self.page_tokens
        while row.node.end + size <= row.num_computed:
            start = row.node.end
            key = row.key(start, start + size)
            prefilled = _clamp(row.num_prompt - start, size)
            page = row.node.children.get(key)
            if page is None:
                page = self._store.enter(row.node, key, row.tail, use)
                self._index.remember(page)
            elif self._prefilled_only and page.num_prefilled < prefilled:
                self._store.adopt(page, row.tail)
            row.node = page

    def publish_partial(self, row: Row) -> Page:
        """Make the tokens after the last full page findable too. Returns the deepest page of the
        row."""
        self.publish(row)
        if (
            not self.enabled
            or self.match_unit == self.page_tokens
            or row.num_computed == row.node.end
        ):
            return row.node
        start = row.node.end
        key = row.key(start, row.num_computed)
        known = next((page for of, page in row.node.children.items() if of.startswith(key)), None)
        prefilled = _clamp(row.num_prompt - start, row.num_computed - start)
        if known is not None and not (self._prefilled_only and known.num_prefilled < prefilled):
            return known
        return self._store.enter(row.node, key, row.tail, self._use_by(row))

    def checkpoint(self, row: Row) -> None:
        """Let later requests take up where the row stands now. Call only after the step that
        brought it there has been evaluated; nothing is copied. Full attention alone needs none."""
        if self.enabled and not self.cost.dense and row.tail.storage.num_tokens:
            self.publish(row)
            self._seal(row)
            self._limit_checkpoints()

    def close_row(self, row: Row) -> None:
        """The row ends, for whatever reason: what it computed stays findable, what it held is
        released."""
        last = self.publish_partial(row)
        self._index.clock += 1
        try:
            self._store.seal(row.tail)
        except Exception:
            log.exception("The KV of %s is lost.", row.hold.owner)
            self.abandon_row(row)
            return
        del self.rows[row.tail]
        self._keep_checkpoint(row, row.tail)
        self._index.touch(last, self._use_by(row))
        self._store.collect(row.tail)
        self.release(row.hold)
        self._index.leave_root(row.root)
        self._limit_checkpoints()

    def abandon_row(self, row: Row) -> None:
        """The row ends, and its tail is lost: what it computed since it last shared anything, and
        what it took over. Nobody may find it."""
        lost = row.tail
        self._store.forget_pages(lost)
        left = row.node
        while not left.attached:
            assert left.parent is not None
            left = left.parent
        self._index.touch(left, self._use_by(row))
        del self.rows[lost]
        lost.open = False
        self._store.drop(lost)
        self.release(row.hold)
        self._index.leave_root(row.root)

    # Memory

    @property
    def used_bytes(self) -> int:
        """Bytes allocated by all parts, open and sealed; every part counts once."""
        return self._store.sealed_bytes + self.open_bytes

    @property
    def open_bytes(self) -> int:
        """Bytes allocated by the open tails of running rows."""
        return sum(part.storage.num_bytes for part in self.rows)

    @property
    def checkpoint_bytes(self) -> int:
        """Bytes of windows and recurrent states of sealed parts."""
        return self._store.kept_bytes

    @property
    def given_back(self) -> int:
        """Bytes that were ever let go."""
        return self._store.given_back

    def hot_bytes(self, now: float, window_s: float = HALF_LIFE_S) -> int:
        """Bytes in sealed parts that nobody holds and that were hit at least twice in the last
        `window_s` seconds before `now`, of the cache's clock: what of the hot set eviction could
        take (algorithms §2.8). Windows and states at which such a hit ended are in it."""
        num_tokens, checkpoints = self._index.hot(now - window_s)
        extras = sum(self._store.extra_bytes(each.part) for each in checkpoints)
        return num_tokens * self.cost.bytes_per_token + extras

    def hot_bytes_of(self, match: Match, now: float, window_s: float = HALF_LIFE_S) -> int:
        """What of `hot_bytes` a match would hold. A page was hit whenever one that follows it
        was."""
        page, since_s = match.last, now - window_s
        while page.parent is not None and not page.is_hot(since_s):
            page = page.parent
        num_tokens = sum(
            max(0, min(view.end, page.end) - max(view.part.base, view.part.held_end))
            for view in match.views
            if not view.part.open
        )
        checkpoint = match.checkpoint
        hot = checkpoint is not None and is_free_and_hot(checkpoint, since_s)
        extras = self._store.extra_bytes(checkpoint.part) if checkpoint and hot else 0
        return num_tokens * self.cost.bytes_per_token + extras

    def keep_hot(self, now: float, window_s: float = HALF_LIFE_S) -> Reclaimed:
        """The machine is short of memory: give up all but what is held and what is hot."""
        keep = self.held_bytes() + self.hot_bytes(now, window_s)
        spare = self.used_bytes - keep
        return self._reclaimer.reclaim(
            spare, Reason.MEMORY_PRESSURE, spares_hot_since=now - window_s
        )

    def held_bytes(self) -> int:
        """Bytes that eviction cannot give back: open tails, and what holds need of sealed parts."""
        total = self.open_bytes
        for part in self.parts:
            if part.holds and not part.open:
                total += (part.held_end - part.base) * self.cost.bytes_per_token
                if not self.cost.dense:
                    total += self._held_extras(part, part.holds)
        return total

    def bytes_held_by(self, holds: Collection[Hold]) -> int:
        """Bytes of sealed parts that these holds need; what several need counts once."""
        total = 0
        for part in {view.part for hold in holds for view in hold.views}:
            of_part = [hold for hold in part.holds if hold in holds]
            end = max(part.holds[hold] for hold in of_part)
            total += (end - part.base) * self.cost.bytes_per_token
            total += self._held_extras(part, of_part)
        return total

    def newly_held_bytes(self, match: Match) -> int:
        """How much `held_bytes` would grow if this match were held, windows apart: what a row holds
        of them, in whatever part, is in `KVCost.append_bytes`."""
        total = 0
        for view in match.views:
            part = view.part
            if part.open:
                continue
            total += max(0, view.end - part.held_end) * self.cost.bytes_per_token
        return total

    def reclaim(self, num_bytes: int, reason: Reason = Reason.CAPACITY) -> Reclaimed:
        """Give back at least `num_bytes` if the parts that nobody uses have that much; least
        valuable first, leaves before what they stand on. Returns what was given back."""
        return self._reclaimer.reclaim(num_bytes, reason)

    def take_evicted(self) -> tuple[Evicted, ...]:
        """All that was given up since this was last asked, for whatever reason."""
        return self._reclaimer.take_evicted()

    def compact(self, most_bytes: int, most_parts: int = MOST_PARTS) -> bool:
        """Join two parts of the longest chain of more than `most_parts`, if that takes at most so
        many bytes for a moment. Returns whether it did. For when there is nothing else to do.
        Raises whatever the storage does where it fails; then nothing has changed."""
        pair = find_pair(
            self.parts,
            most_parts,
            prompts_apart=self._prefilled_only,
            num_windows=len(self.cost.windows),
        )
        if pair is None or pair[0].storage.absorb_bytes(pair[1].storage) > most_bytes:
            return False
        self._store.join(*pair)
        return True

    def can_take_over(self, row: Row) -> bool:
        """Whether a row could go on in the last part it stands on: nobody else needs that, and both
        are short. Where layers have conditions of their own, parts end at checkpoints and stay."""
        return self.cost.dense and can_take_over(row, prompts_apart=self._prefilled_only)

    def take_over(self, row: Row, most_bytes: int) -> bool:
        """Let a row go on in the last part it stands on, if it can and joining them takes at most
        so many bytes for a moment: the reverse of sharing a tail. It then reads one piece where it
        read two. Returns whether it does. For a row that runs alone. Raises whatever the storage
        does where it fails; then nothing has changed."""
        if not self.can_take_over(row):
            return False
        below, tail = row.hold.views[-1].part, row.tail
        if below.storage.absorb_bytes(tail.storage) > most_bytes:
            return False
        self._store.join(below, tail)
        row.hold.drop_last()
        del self.rows[tail]
        row.tail, self.rows[below] = below, row
        return True

    def clear(self) -> bool:
        """Forget everything that nobody holds. Refused (False) while a row runs (oracle A16)."""
        if self.rows:
            return False
        while self.reclaim(self.used_bytes or 1).num_bytes:
            pass
        return True

    def check_integrity(self) -> None:
        """Raises IntegrityError if any rule of the structure is broken. O(pages)."""
        integrity.check(self._index, self._store, self.rows, self._reclaimer.offers)

    # Inside

    def _hold(self, match: Match, owner: str, use: Use) -> Hold:
        """Of a match whose end lies in a tail that cannot be sealed, what can be held without."""
        hold = Hold(owner)
        for view in match.views:
            if view.part.open:
                try:
                    self._seal(self.rows[view.part])
                except Exception:
                    log.exception("The KV of a running request cannot be shared.")
                    if not self.cost.dense:  # nothing can be taken up in the middle
                        self.release(hold)
                    break
            hold.add(view)
        self._index.touch(match.last, use)
        if match.checkpoint is not None:
            self._index.touch_checkpoint(match.checkpoint, use)
        return hold

    def _use_by(self, row: Row) -> Use:
        """What a row computes, and that it stands on what it found."""
        return Use(
            self._index.clock,
            self._now(),
            row.client,
            row.standing,
            cold=row.cold,
            gathered=row.gathered,
        )

    def _dense_match(self, walk: Walk) -> Match:
        num_tokens = walk.num_tokens // self.match_unit * self.match_unit
        last = walk.last
        if num_tokens <= walk.node.end:
            last, num_tokens = walk.node, walk.node.end
        views = last.part.chain(num_tokens) if last.part is not None else ()
        return Match(num_tokens, walk.node, last, views, num_tokens)

    def _agreed_match(self, walk: Walk) -> Match:
        """The longest prefix on which all groups of layers agree, over all chains that have the
        tokens."""
        chains = [(found.end, found.part, 1) for found in walk.checkpoints]
        if walk.last.part is not None and not self.cost.recurrent:
            chains.append((walk.num_tokens, walk.last.part, self.match_unit))
        best, on = 0, None
        for end, part, unit in sorted(chains, key=lambda chain: -chain[0]):
            if end <= best:
                break
            agreed = self._longest_on(part, end, unit)
            if agreed > best:
                best, on = agreed, part
        num_shared = max([walk.num_tokens, *(found.end for found in walk.checkpoints)])
        if on is None:
            root = self._first(walk.node, 0)
            return Match(0, root, root, (), num_shared)
        node = self._first(walk.node, best)
        views = on.chain(best)
        ended = views[-1].part.checkpoint if views[-1].end == views[-1].part.end else None
        last = walk.last if best > walk.node.end else node
        return Match(best, node, last, views, num_shared, ended)

    def _longest_on(self, part: Part, end: int, unit: int) -> int:
        """Longest prefix, at most `end` tokens, that can be taken up on the chain of one part."""
        views = part.chain(end)
        groups: list[LongestHit] = []
        for group, window in enumerate(self.cost.windows):
            runs = join_runs(
                (max(of.base, of.end - of.storage.window_tokens(group)), min(of.end, view.end))
                for view in views
                for of in (view.part,)
            )
            groups.append(over_window(runs, window.reach, unit))
        if self.cost.recurrent:
            ends = [
                view.end
                for view in views
                if view.part.storage.state_bytes
                and view.end == view.part.end
                and view.part.checkpoint is not None
                and (view.part.checkpoint.computed_by_prefill or not self._prefilled_only)
            ]
            groups.append(at_states(ends))
        return converge(groups, end)

    @staticmethod
    def _first(page: Page, position: int) -> Page:
        """The last page on the way to `page` that ends at or before a position."""
        while page.end > position:
            assert page.parent is not None
            page = page.parent
        return page

    def _new_tail(self, hold: Hold, prompt_end: int) -> Part:
        if not hold.views:
            tail = Part(0, None, self._new_storage(), prompt_end)
        else:
            before = hold.views[-1]
            tail = Part(before.end, before.part, before.part.storage.successor(), prompt_end)
        self._store.add(tail)
        return tail

    def _seal(self, row: Row) -> None:
        """Somebody else needs the row's tail: it becomes a part that both stand on, the row goes on
        in a fresh one."""
        sealed = row.tail
        self._store.seal(sealed)
        row.hold.add(View(sealed, sealed.end))
        del self.rows[sealed]
        row.tail = self._new_tail(row.hold, row.num_prompt)
        self.rows[row.tail] = row
        self._keep_checkpoint(row, sealed)

    def _keep_checkpoint(self, row: Row, part: Part) -> None:
        """Make the end of a part that the row just ended a place to take up from."""
        if not self.enabled or self.cost.dense or not part.storage.num_tokens:
            return
        self.publish(row)
        self._store.keep_checkpoint(
            Checkpoint(
                row.node,
                row.key(row.node.end, part.end),
                part,
                computed_by_prefill=part.end <= row.num_prompt,
            ),
            self._use_by(row),
        )

    def _held_extras(self, part: Part, holds: Iterable[Hold]) -> int:
        """Bytes of a part's windows and state that these holds need."""
        total = 0
        if part.checkpoint is not None and any(
            hold.checkpoint is part.checkpoint for hold in holds
        ):
            total += part.storage.state_bytes
        for group, window in enumerate(self.cost.windows):
            if any(hold.at - window.reach < part.end for hold in holds):
                total += part.storage.window_bytes(group)
        return total

    def _limit_checkpoints(self) -> None:
        if self.most_checkpoint_bytes is not None:
            self._reclaimer.limit_checkpoints(self.most_checkpoint_bytes)


def _takes_up_answer(match: Match) -> bool:
    """Whether a match goes on to, or beyond, what was computed as part of an answer."""
    last = match.last
    comes_after = last.parent is not None and last.parent.past_answer
    return comes_after or match.num_tokens > last.start + last.num_prefilled


def _extends(match: Match, num_tokens: int) -> bool:
    """Whether a prompt of so many tokens goes on where one that nobody else has used ended."""
    last = match.last
    return not last.shared and not last.children and last.end == match.num_tokens < num_tokens


def _clamp(num_tokens: int, most: int) -> int:
    return max(0, min(num_tokens, most))


def tokens_of(pages: Iterable[Page]) -> array[int]:
    """Tokens of consecutive pages, for checks and diagnosis."""
    tokens = array(TOKEN_TYPE)
    for page in pages:
        tokens.frombytes(page.key)
    return tokens
