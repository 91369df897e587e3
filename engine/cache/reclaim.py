"""Giving memory back: which part gives what, and in which order (oracles A3, C20, J5, K22).

A part gives its end: leaf first, nothing that is in use. A part on which others stand can still
give what only a hit at its own end needs: its recurrent state and its windows.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from engine.cache.eviction import EvictionPolicy
from engine.cache.index import root_of
from engine.cache.page import Page
from engine.cache.part import Part
from engine.cache.store import Store

Worth = tuple[int, float]  # the lowest is given up first: by class, then by the policy's rank
_WORTHLESS = (0, 0.0)
_ORDINARY = 1
_BRANCH = 2  # a state where several prompts part


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What an eviction gave back."""

    num_pages: int = 0
    num_bytes: int = 0
    num_checkpoints: int = 0


class Reclaimer:
    """Takes memory from parts that nobody uses."""

    def __init__(self, store: Store, policy: EvictionPolicy) -> None:
        self._store = store
        self._index = store.index
        self._cost = store.cost
        self._policy = policy

    def reclaim(self, num_bytes: int) -> Reclaimed:
        """Give back at least `num_bytes` if the parts that nobody uses have that much; least
        valuable first, leaves before what they stand on. Returns what was given back."""
        before, checkpoints = self._store.given_back, self._index.num_checkpoints
        pages = 0
        heap = self._candidates(only_checkpoints=False)
        while heap and (freed := self._store.given_back - before) < num_bytes:
            _, _, part = heapq.heappop(heap)
            if part not in self._store.parts or not self._can_give(part):
                continue  # dropped along with another, or listed twice
            line = part.ancestry()
            rival = heap[0][0] if heap else None
            pages += self._give(part, num_bytes - freed, rival)
            # What this freed may have been all that its ancestors were kept for.
            self._push(heap, line)
        return Reclaimed(
            pages,
            self._store.given_back - before,
            checkpoints - self._index.num_checkpoints,
        )

    def limit_checkpoints(self, most_bytes: int) -> Reclaimed:
        """Give up the least valuable checkpoints until windows and states of sealed parts take at
        most so many bytes, or only those in use are left (oracle J24)."""
        before, checkpoints = self._store.given_back, self._index.num_checkpoints
        pages = 0
        if self._store.kept_bytes > most_bytes:
            heap = self._candidates(only_checkpoints=True)
            while heap and self._store.kept_bytes > most_bytes:
                _, _, part = heapq.heappop(heap)
                if part not in self._store.parts or not self._can_give(part):
                    continue
                line = part.ancestry()
                pages += self._give(part, 1, None)
                self._push(heap, line, only_checkpoints=True)
        return Reclaimed(
            pages,
            self._store.given_back - before,
            checkpoints - self._index.num_checkpoints,
        )

    def window_held(self, part: Part, group: int) -> bool:
        """Whether somebody who holds the part sees tokens of it through a sliding window."""
        reach = self._cost.windows[group].reach
        return any(hold.at - reach < part.end for hold in part.holds)

    # Order

    def _candidates(self, *, only_checkpoints: bool) -> list[tuple[Worth, int, Part]]:
        heap = [
            (self._worth(part), part.serial, part)
            for part in self._store.parts
            if self._can_give(part) and (not only_checkpoints or self._store.extra_bytes(part))
        ]
        heapq.heapify(heap)
        return heap

    def _push(
        self,
        heap: list[tuple[Worth, int, Part]],
        line: list[Part],
        *,
        only_checkpoints: bool = False,
    ) -> None:
        living = [part for part in line if part in self._store.parts]
        if self._cost.dense:
            del living[1:]  # the others are kept by the first
        for part in living:
            if self._can_give(part) and (not only_checkpoints or self._store.extra_bytes(part)):
                heapq.heappush(heap, (self._worth(part), part.serial, part))

    def _can_give(self, part: Part) -> bool:
        if part.open:
            return False
        return (
            part.needed_end < part.end
            or self._store.empty_bytes(part) > 0
            or (not self._cost.dense and self._has_spare(part))
        )

    def _has_spare(self, part: Part) -> bool:
        """Whether a part that others stand on keeps a state or a window for nobody but a hit at its
        own end."""
        if part.checkpoint is not None and part.checkpoint.holds:
            return False
        return part.storage.state_bytes > 0 or any(
            part.storage.window_tokens(group) and not self._window_needed(part, group)
            for group in range(len(self._cost.windows))
        )

    def _window_needed(self, part: Part, group: int) -> bool:
        """Whether a row, or a checkpoint that stands on the part, sees into its window."""
        if self.window_held(part, group):
            return True
        reach = self._cost.windows[group].reach
        ahead = [(child, child.base) for child in part.children]
        while ahead:
            later, seam = ahead.pop()
            if later.checkpoint is not None and later.end - reach < seam:
                return True
            ahead.extend((child, seam) for child in later.children if child.base - reach < seam)
        return False

    def _worth(self, part: Part) -> Worth:
        """Rank of what the part would give up first; empty room and tokens that cannot be found are
        worth nothing."""
        needed = part.needed_end
        if not self._is_mostly_full(part):
            return _WORTHLESS
        if not self._cost.dense and part.checkpoint is not None and self._gives_checkpoint(part):
            at_end = sum(child.base == part.end for child in part.children)
            kind = _BRANCH if at_end > 1 else _ORDINARY
            return kind, self._policy.rank(part.checkpoint)
        if self._cost.recurrent or not all(
            part.storage.window_tokens(group) for group in range(len(self._cost.windows))
        ):
            return _WORTHLESS  # no hit can end in it
        ranks = [self._policy.rank(page) for page in part.pages if page.end > needed]
        last = max((page.end for page in part.pages), default=0)
        return (_ORDINARY, min(ranks)) if ranks and last == part.end else _WORTHLESS

    def _gives_checkpoint(self, part: Part) -> bool:
        return part.needed_end < part.end or self._has_spare(part)

    def _is_mostly_full(self, part: Part) -> bool:
        """Whether giving back only the empty room would not pay for the copy it takes."""
        return self._store.is_mostly_full(part)

    # Giving

    def _give(self, part: Part, num_bytes: int, rival: Worth | None) -> int:
        """Returns the number of pages that are gone from the index."""
        if self._cost.dense:
            return self._shrink(part, num_bytes, rival)
        if not (self._is_mostly_full(part) and self._gives_checkpoint(part)):
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
                if part.storage.window_tokens(group) and not self._window_needed(part, group):
                    self._store.drop_window(part, group)
            self._store.collect(part)
        if root is not None:
            self._index.forget_root(root)
        return gone

    def _shrink(self, part: Part, num_bytes: int, rival: Worth | None) -> int:
        """Cut tokens off the part's end: its empty room if that alone pays; else as many pages as
        give `num_bytes`, or a quarter of the part where more of it is worth no more than `rival`,
        since a cut copies what remains."""
        before = part.storage.num_bytes
        quarter = part.storage.num_tokens // 4
        pages = self._pages_beyond(part, part.needed_end)
        if pages and pages[0].end == part.end and not self._is_mostly_full(part):
            return self._cut(part, part.end)
        for page in pages:
            slack = before - (page.end - part.base) * self._cost.bytes_per_token
            if slack >= num_bytes and (
                part.end - page.end >= quarter
                or (rival is not None and (_ORDINARY, self._policy.rank(page)) > rival)
            ):
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
        pages = (page for page in part.pages if page.end > position)
        return sorted(pages, key=lambda page: -page.end)
