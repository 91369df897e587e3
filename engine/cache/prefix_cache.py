"""The prefix cache: an index of pages over parts, and the one place where parts are made, shared
and given up.

Everything here runs on the engine thread between two forward steps. Nothing here touches an array:
storages are opaque, so the whole policy runs and is tested without a model.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.cache import integrity
from engine.cache.eviction import EvictionPolicy, LeastRecentlyUsed
from engine.cache.identity import ModelIdentity, page_digest, root_digest
from engine.cache.page import TOKEN_BYTES, Page, common_tokens
from engine.cache.part import Hold, Part, Storage, View
from engine.cache.row import TOKEN_TYPE, Row
from engine.errors import ConfigError

_EMPTY_SHARE = 8  # room of more than 1/8 of a part's tokens is worth a copy to give back


@dataclass(frozen=True, slots=True)
class Match:
    """The longest known prefix of some tokens: `num_tokens` of them, to be read through `views`.

    `node` is the deepest full page inside the match, `last` the page its last tokens lie in (the
    same one, or a child of it that is used in part).
    """

    num_tokens: int
    node: Page
    last: Page
    views: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What an eviction gave back."""

    num_pages: int = 0
    num_bytes: int = 0


class PrefixCache:
    """Finds, shares, publishes and evicts KV.

    `new_storage` makes an empty storage for an open part. `bytes_per_token` prices tokens that are
    in use. With `enabled` false nothing is matched or published, rows only run. Raises ConfigError
    where `match_unit` does not divide `page_tokens`.
    """

    def __init__(
        self,
        identity: ModelIdentity,
        new_storage: Callable[[], Storage],
        *,
        bytes_per_token: int,
        page_tokens: int = 16,
        match_unit: int = 1,
        enabled: bool = True,
        policy: EvictionPolicy | None = None,
    ) -> None:
        if page_tokens <= 0 or match_unit <= 0 or page_tokens % match_unit:
            raise ConfigError(
                f"a match unit of {match_unit} does not divide pages of {page_tokens}"
            )
        self.page_tokens = page_tokens
        self.match_unit = match_unit
        self.bytes_per_token = bytes_per_token
        self.enabled = enabled
        self.parts: set[Part] = set()
        self.roots: dict[bytes, Page] = {}
        self.rows: dict[Part, Row] = {}  # the owner of each open part
        self.num_pages = 0
        self._identity = identity
        self._new_storage = new_storage
        self._policy = policy or LeastRecentlyUsed()
        self._clock = 0
        self.given_back = 0  # bytes, ever

    # Finding

    def match(self, tokens: Sequence[int], limit: int | None = None, salt: str = "") -> Match:
        """Longest prefix of `tokens`, of at most `limit` tokens, whose KV is known.

        Changes nothing. Full pages are found by their tokens below the page before them; the rest
        token by token inside the children of the last one, down to a multiple of the match unit.
        """
        root = self.roots.get(root_digest(self._identity, salt))
        if root is None or not self.enabled:
            root = root or Page(None, b"", None, None)
            return Match(0, root, root, ())
        size = self.page_tokens * TOKEN_BYTES
        limit = len(tokens) if limit is None else min(limit, len(tokens))
        wanted = array(TOKEN_TYPE, tokens[:limit]).tobytes()
        node, at = root, 0
        while at + size <= len(wanted) and (child := node.children.get(wanted[at : at + size])):
            node, at = child, at + size
        last, extra = node, 0
        rest = wanted[at : at + size]
        for key, child in node.children.items():
            if key[:TOKEN_BYTES] == rest[:TOKEN_BYTES]:
                shared = common_tokens(key, rest)
                if shared > extra:
                    last, extra = child, shared
        num_tokens = (node.end + extra) // self.match_unit * self.match_unit
        if num_tokens <= node.end:
            last, num_tokens = node, node.end
        views = last.part.chain(num_tokens) if last.part is not None else ()
        return Match(num_tokens, node, last, views)

    def hold(self, match: Match, owner: str) -> Hold:
        """Keep a match from eviction until the hold is released with `release`."""
        self._clock += 1
        hold = Hold(owner)
        for view in match.views:
            if view.part.open:
                self._seal(self.rows[view.part])
            hold.add(view)
        self._touch(match.last, hit=True)
        return hold

    def release(self, hold: Hold) -> None:
        """Let a hold go; parts that nobody can find any more are dropped at once."""
        for part in hold.release():
            self._collect(part)

    # Running

    def open_row(
        self, tokens: Sequence[int], *, limit: int | None = None, salt: str = "", owner: str = ""
    ) -> Row:
        """A row for `tokens` on the longest known prefix of at most `limit` tokens."""
        root = self._root(salt)
        match = self.match(tokens, limit, salt)
        hold = self.hold(match, owner)
        row = Row(tokens, root, hold, self._new_tail(hold, match.num_tokens))
        row.node = match.node
        self.rows[row.tail] = row
        return row

    def publish(self, row: Row) -> None:
        """Make every full page that stands in the row's KV findable. Call only after the step that
        computed it has been evaluated (S0-4, S0-5)."""
        if not self.enabled:
            return
        if not row.node.attached:
            row.node = row.root
        self._clock += 1
        size = self.page_tokens
        while row.node.end + size <= row.num_computed:
            key = row.key(row.node.end, row.node.end + size)
            row.node = row.node.children.get(key) or self._index(row.node, key, row.tail)

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
        key = row.key(row.node.end, row.num_computed)
        known = next((page for of, page in row.node.children.items() if of.startswith(key)), None)
        return known or self._index(row.node, key, row.tail)

    def close_row(self, row: Row) -> None:
        """The row ends, for whatever reason: what it computed stays findable, what it held is
        released."""
        last = self.publish_partial(row)
        self._clock += 1
        del self.rows[row.tail]
        row.tail.open = False
        row.tail.storage.seal()
        self._touch(last)
        self._collect(row.tail)
        self.release(row.hold)
        self._forget_root(row.root)

    # Memory

    @property
    def used_bytes(self) -> int:
        """Bytes allocated by all parts, open and sealed; every part counts once."""
        return sum(part.storage.num_bytes for part in self.parts)

    @property
    def open_bytes(self) -> int:
        """Bytes allocated by the open tails of running rows."""
        return sum(part.storage.num_bytes for part in self.rows)

    def held_bytes(
        self, accept: Callable[[Hold], bool] = lambda hold: True, *, open_tails: bool = True
    ) -> int:
        """Bytes that eviction cannot give back: open tails, and sealed tokens under a hold that
        `accept` accepts."""
        total = 0
        for part in self.parts:
            if part.open:
                total += part.storage.num_bytes if open_tails else 0
            elif ends := [end for hold, end in part.holds.items() if accept(hold)]:
                total += (max(ends) - part.base) * self.bytes_per_token
        return total

    def newly_held_bytes(self, match: Match) -> int:
        """How much `held_bytes` would grow if this match were held."""
        total = 0
        for view in match.views:
            if not view.part.open:
                held = max(view.part.holds.values(), default=view.part.base)
                total += max(0, view.end - held) * self.bytes_per_token
        return total

    def reclaim(self, num_bytes: int) -> Reclaimed:
        """Give back at least `num_bytes` if the parts that nobody uses have that much; least
        valuable pages first, leaves before the pages they stand on. Returns what was given back."""
        pages, before = 0, self.given_back
        heap = [
            (self._worth(part), part.serial, part) for part in self.parts if self._can_shrink(part)
        ]
        heapq.heapify(heap)
        while heap and (freed := self.given_back - before) < num_bytes:
            _, _, part = heapq.heappop(heap)
            if part not in self.parts:
                continue  # dropped along with another
            line = part.ancestry()
            rival = heap[0][0] if heap else float("inf")
            pages += self._shrink(part, num_bytes - freed, rival)
            # What this freed may have been all that its nearest living ancestor was kept for.
            again = next((ancestor for ancestor in line if ancestor in self.parts), None)
            if again is not None and self._can_shrink(again):
                heapq.heappush(heap, (self._worth(again), again.serial, again))
        return Reclaimed(pages, self.given_back - before)

    def clear(self) -> bool:
        """Forget everything that nobody holds. Refused (False) while a row runs (oracle A16)."""
        if self.rows:
            return False
        while self.reclaim(self.used_bytes or 1).num_bytes:
            pass
        return True

    def check_integrity(self) -> None:
        """Raises IntegrityError if any rule of the structure is broken. O(pages)."""
        integrity.check(
            self.roots.values(), self.parts, self.rows, self.num_pages, self.page_tokens
        )

    # Inside

    def _root(self, salt: str) -> Page:
        digest = root_digest(self._identity, salt)
        return self.roots.setdefault(digest, Page(None, b"", None, digest))

    def _forget_root(self, root: Page) -> None:
        if (
            root.digest
            and not root.children
            and all(row.root is not root for row in self.rows.values())
        ):
            self.roots.pop(root.digest, None)

    def _new_tail(self, hold: Hold, base: int) -> Part:
        tail = Part(base, hold.views[-1].part if hold.views else None, self._new_storage())
        self.parts.add(tail)
        return tail

    def _seal(self, row: Row) -> None:
        """Somebody else needs the row's tail: it becomes a part that both stand on, the row goes on
        in a fresh one."""
        sealed = row.tail
        sealed.open = False
        sealed.storage.seal()
        row.hold.add(View(sealed, sealed.end))
        del self.rows[sealed]
        row.tail = self._new_tail(row.hold, sealed.end)
        self.rows[row.tail] = row

    def _index(self, parent: Page, key: bytes, tail: Part) -> Page:
        """Enter a page below `parent`; its KV is found from `tail` down the chain."""
        for known, page in list(parent.children.items()):
            if key.startswith(known) and (
                len(known) == len(key) or tail.covering(page.end - 1) is page.part
            ):
                self._collect(self._unindex(page))  # the new page says the same and more
        full = len(key) == self.page_tokens * TOKEN_BYTES
        digest = page_digest(parent.digest, key) if full and parent.digest else None
        page = Page(parent, key, None, digest)
        page.part = tail.covering(page.end - 1)
        page.part.pages.add(page)
        page.last_used = self._clock
        parent.children[key] = page
        self.num_pages += 1
        return page

    def _unindex(self, page: Page) -> Part:
        """Take a leaf page out of the index. Returns the part it lay in, which may be dead now."""
        assert page.parent
        assert page.part
        assert not page.children
        del page.parent.children[page.key]
        part, page.part = page.part, None
        part.pages.discard(page)
        self.num_pages -= 1
        return part

    def _touch(self, page: Page, hit: bool = False) -> None:
        at: Page | None = page
        while at is not None:
            at.last_used = self._clock
            at.hits += hit
            at = at.parent

    def _collect(self, part: Part) -> None:
        """Drop a part that nobody uses and nobody can find, and then whatever it alone kept."""
        while part.dead and part in self.parts:
            self.parts.discard(part)
            self.given_back += part.storage.num_bytes
            parent = part.parent
            if parent is None:
                return
            parent.children.discard(part)
            part.parent = None
            part = parent

    def _can_shrink(self, part: Part) -> bool:
        return not part.open and (part.needed_end < part.end or self._empty_tokens(part) > 0)

    def _empty_tokens(self, part: Part) -> int:
        """Tokens that a sealed part has room for and does not hold."""
        return part.storage.num_bytes // self.bytes_per_token - part.storage.num_tokens

    def _is_mostly_full(self, part: Part) -> bool:
        """Whether giving back only the empty room would not pay for the copy it takes."""
        return self._empty_tokens(part) * _EMPTY_SHARE < part.storage.num_tokens

    def _worth(self, part: Part) -> float:
        """Rank of the first page that the part would give up; empty room and tokens that cannot be
        found are worth nothing."""
        needed = part.needed_end
        ranks = [self._policy.rank(page) for page in part.pages if page.end > needed]
        last = max((page.end for page in part.pages), default=0)
        found_to_the_end = bool(ranks) and last == part.end
        return min(ranks) if found_to_the_end and self._is_mostly_full(part) else -1.0

    def _shrink(self, part: Part, num_bytes: int, rival: float) -> int:
        """Cut tokens off the part's end: its empty room if that alone pays; else as many pages as
        give `num_bytes`, or a quarter of the part where more of it is worth no more than `rival`,
        since a cut copies what remains. Returns the number of pages that are gone from the index.
        """
        before = part.storage.num_bytes
        needed = part.needed_end
        quarter = part.storage.num_tokens // 4
        pages = sorted(
            (page for page in part.pages if page.end > needed), key=lambda page: -page.end
        )
        keep = needed
        gone = 0
        if pages and pages[0].end == part.end and not self._is_mostly_full(part):
            keep, pages = part.end, []
        for page in pages:
            slack = before - (page.end - part.base) * self.bytes_per_token
            if slack >= num_bytes and (
                part.end - page.end >= quarter or self._policy.rank(page) > rival
            ):
                keep = page.end
                break
            gone += self._give_up(page, part)
            if page.start < needed and self.match_unit < self.page_tokens:
                self._shorten(page, needed, part)
        if keep > part.base:
            part.storage.truncate(keep - part.base)
            self.given_back += before - part.storage.num_bytes
            return gone
        root = self._root_of(pages[-1]) if pages else None
        self._collect(part)
        if root is not None:
            self._forget_root(root)
        return gone

    def _give_up(self, page: Page, part: Part) -> bool:
        """Take a page out of a part: over to another part that holds the same tokens, or (True) out
        of the index."""
        for child in page.children.values():
            assert child.part is not None
            heir = child.part.covering(page.end - 1)
            assert heir is not part, "a part that a child page stands on is needed"
            part.pages.discard(page)
            heir.pages.add(page)
            page.part = heir
            return False
        self._unindex(page)
        return True

    def _shorten(self, page: Page, end: int, part: Part) -> None:
        """Of a page that the part just gave up, keep the tokens before `end` findable: they are
        still in use."""
        assert page.parent is not None
        key = page.key[: (end - page.start) * TOKEN_BYTES]
        known = page.parent.children.get(key)
        if known is None or known.part is None or known.end > known.part.needed_end:
            self._index(page.parent, key, part)

    @staticmethod
    def _root_of(page: Page) -> Page:
        while page.parent is not None:
            page = page.parent
        return page


def tokens_of(pages: Iterable[Page]) -> array[int]:
    """Tokens of consecutive pages, for checks and diagnosis."""
    tokens = array(TOKEN_TYPE)
    for page in pages:
        tokens.frombytes(page.key)
    return tokens
