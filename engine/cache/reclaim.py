"""Giving memory back: which part gives what, and in which order (oracles A3, C20, J5, K22).

A part gives its end: leaf first, nothing that is in use. A part on which others stand can still
give what only a hit at its own end needs: its recurrent state and its windows.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from engine.cache.evicted import Evicted, Reason, merged
from engine.cache.eviction import EvictionPolicy, Group
from engine.cache.index import root_of
from engine.cache.kept import Kept
from engine.cache.offers import Offer, Offers
from engine.cache.page import Page
from engine.cache.part import Part
from engine.cache.standing import Standing
from engine.cache.store import Store


class Worth(NamedTuple):
    """The lowest is given up first: by the policy's groups, then states where several prompts part
    after all others, then by the policy's value."""

    group: int
    parts_prompts: bool
    value: float


_FAR_HOTTER = 1.0  # heat is a logarithm: twice as much used
_WORTHLESS = Worth(0, False, 0.0)
_OVER_SHARE = {Group.OVER_SHARE, Group.BACKGROUND_OVER_SHARE}


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What an eviction gave back, and of it what each client and standing lost for which reason."""

    num_pages: int = 0
    num_bytes: int = 0
    num_checkpoints: int = 0
    evicted: tuple[Evicted, ...] = ()


class Reclaimer:
    """Takes memory from parts that nobody uses, by what they have to offer. Whatever it takes is
    told once more by `take_evicted`."""

    def __init__(self, store: Store, policy: EvictionPolicy) -> None:
        self._store = store
        self._index = store.index
        self._cost = store.cost
        self._policy = policy
        self.offers = Offers(store, policy)
        self._untold: tuple[Evicted, ...] = ()

    def reclaim(
        self,
        num_bytes: int,
        reason: Reason = Reason.CAPACITY,
        spares_hot_since: float = math.inf,
    ) -> Reclaimed:
        """Give back at least `num_bytes` if the parts that nobody uses have that much; least
        valuable first, leaves before what they stand on. A part whose end was hit twice since some
        second is spared. Returns what was given back."""
        target = self._store.given_back + num_bytes

        def missing() -> int:
            return target - self._store.given_back

        if spares_hot_since == math.inf:  # nothing is
            return self._take(self._worth, missing, reason)

        def worth_unless_hot(part: Part) -> Worth | None:
            offer = self.offers.of(part)
            hot = offer and offer.kept and offer.kept.is_hot(spares_hot_since)
            return None if hot else self._worth(part)

        return self._take(worth_unless_hot, missing, reason, spares_hot_since)

    def limit_checkpoints(self, most_bytes: int) -> Reclaimed:
        """Give up the least valuable checkpoints until windows and states of sealed parts take at
        most so many bytes, or only those in use are left (oracle J24)."""
        return self._take(
            lambda part: self._worth(part) if self._store.extra_bytes(part) else None,
            lambda: self._store.kept_bytes - most_bytes,
            Reason.CHECKPOINT_LIMIT,
        )

    def take_evicted(self) -> tuple[Evicted, ...]:
        """All that was given up since this was last asked."""
        told, self._untold = self._untold, ()
        return told

    # Order

    def _take(
        self,
        worth_of: Callable[[Part], Worth | None],
        missing: Callable[[], int],
        reason: Reason,
        spares_hot_since: float = math.inf,
    ) -> Reclaimed:
        """Take from the parts that have something to give, the least valuable first, until nothing
        is missing."""
        if missing() <= 0:
            return Reclaimed()
        before, checkpoints = self._store.given_back, self._index.num_checkpoints
        taken: list[Evicted] = []
        heap = [
            (worth, part.serial, part)
            for part in self._store.parts
            if (worth := worth_of(part)) is not None
        ]
        heapq.heapify(heap)
        while heap and (num_bytes := missing()) > 0:
            known, serial, part = heapq.heappop(heap)
            worth = worth_of(part) if part in self._store.parts else None
            if worth is None:
                continue  # dropped along with another, or listed twice
            rival = heap[0][0] if heap else None
            if rival is not None and known < rival < worth:
                # Its owner kept more than its share until something else of it went.
                heapq.heappush(heap, (worth, serial, part))
                continue
            line = part.ancestry()
            taken.append(self._give(part, worth, num_bytes, rival, reason, spares_hot_since))
            # What this freed may have been all that its ancestors were kept for.
            living = [part for part in line if part in self._store.parts]
            if self._cost.dense:
                del living[1:]  # the others are kept by the first
            for part in living:
                if (worth := worth_of(part)) is not None:
                    heapq.heappush(heap, (worth, part.serial, part))
        evicted = merged(taken)
        self._untold = merged((*self._untold, *evicted))
        return Reclaimed(
            sum(each.num_pages for each in evicted),
            self._store.given_back - before,
            checkpoints - self._index.num_checkpoints,
            evicted,
        )

    def _worth(self, part: Part) -> Worth | None:
        """What the part would give up first is worth; nothing, if nobody can take it up. None if
        there is nothing that it could give."""
        offer = self.offers.of(part)
        if offer is None:
            return None
        return _WORTHLESS if offer.kept is None else self._worth_of(offer.kept, offer)

    def _worth_of(self, kept: Kept, offer: Offer) -> Worth:
        over_share = not kept.shared and self._index.shares.is_over(kept.owner)
        group, value = self._policy.rank(kept, offer.price, over_share=over_share)
        return Worth(group, offer.parts_prompts, value)

    # Giving

    def _give(
        self,
        part: Part,
        worth: Worth,
        num_bytes: int,
        rival: Worth | None,
        reason: Reason,
        spares_hot_since: float,
    ) -> Evicted:
        offer, before = self.offers.of(part), self._store.given_back
        assert offer is not None
        kept = offer.kept
        if self._cost.dense:
            pages = self._shrink(part, offer, num_bytes, rival, spares_hot_since)
        else:
            pages = self._give_checkpoint(part)
        given = self._store.given_back - before
        if kept is None:
            return Evicted("", Standing.BACKGROUND, Reason.EMPTY_ROOM, pages, given)
        if reason is Reason.CAPACITY and worth.group in _OVER_SHARE:
            reason = Reason.QUOTA
        return Evicted(kept.owner, kept.standing, reason, pages, given)

    def _give_checkpoint(self, part: Part) -> int:
        """Returns the number of pages that are gone from the index."""
        if not (self._store.is_mostly_full(part) and self.offers.gives_checkpoint(part)):
            return self._cut(part, part.end)  # its empty room alone
        root = None
        if part.checkpoint is not None:
            root = root_of(part.checkpoint.node)
            self._index.remove_checkpoint(part.checkpoint)
        gone = 0
        if part.needed_end < part.end:
            gone = self._cut(part, part.needed_end)
        else:
            self._store.drop_state(part)
            for group in range(len(self._cost.windows)):
                if part.storage.window_tokens(group) and not self.offers.window_needed(part, group):
                    self._store.drop_window(part, group)
            self._store.collect(part)
        if root is not None:
            self._index.forget_root(root)
        return gone

    def _shrink(
        self,
        part: Part,
        offer: Offer,
        num_bytes: int,
        rival: Worth | None,
        spares_hot_since: float,
    ) -> int:
        """Cut tokens off the part's end: its empty room if that alone pays; else as many pages as
        give `num_bytes`, and at least a quarter of the part, since a cut copies what remains; but
        nothing that is worth more than `rival` or was hit twice since some second, and, if a
        page has gone, nothing that was used far more than its end."""
        before = part.storage.num_bytes
        quarter = part.storage.num_tokens // 4
        pages = self._pages_beyond(part, part.needed_end)
        if pages and pages[0].end == part.end and not self._store.is_mostly_full(part):
            return self._cut(part, part.end)
        for page in pages:
            if page.end == part.end:
                continue
            slack = before - (page.end - part.base) * self._cost.bytes_per_token
            far_hotter = page.heat > pages[0].heat + _FAR_HOTTER
            least = min(quarter, self._index.page_tokens) if far_hotter else quarter
            enough = slack >= num_bytes and part.end - page.end >= least
            spared = page.is_hot(spares_hot_since)
            if enough or spared or (rival is not None and self._worth_of(page, offer) > rival):
                return self._cut(part, page.end)
        return self._cut(part, part.needed_end)

    def _cut(self, part: Part, keep: int) -> int:
        """Keep the part's tokens before `keep`. Returns the number of pages that are gone."""
        gone = 0
        root: Page | None = None
        needed = part.needed_end
        for page in self._pages_beyond(part, keep):
            root = root_of(page)
            gone += self._store.release_page(page, part)
            if page.start < needed:
                self._store.shorten(page, needed, part)
        if keep > part.base:
            self._store.change(part, lambda storage: storage.truncate(keep - part.base))
            return gone
        self._store.collect(part)
        if root is not None:
            self._index.forget_root(root)
        return gone

    @staticmethod
    def _pages_beyond(part: Part, position: int) -> list[Page]:
        """Pages of the part that end after a position, last first."""
        return [part.pages[end] for end in sorted(part.pages, reverse=True) if end > position]
