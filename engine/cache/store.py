"""Parts, the pages that name their tokens, and the books over their bytes. Every change of any of
them goes through here, so that they agree."""

from __future__ import annotations

import logging
from collections.abc import Callable

from engine.cache.checkpoint import Checkpoint
from engine.cache.cost import EMPTY_SHARE, KVCost
from engine.cache.index import PageIndex
from engine.cache.kept import Kept, Use
from engine.cache.page import TOKEN_BYTES, Page
from engine.cache.part import Part, Storage

log = logging.getLogger(__name__)


class Store:
    """All parts and the index over them.

    `sealed_bytes` is allocated by sealed parts; `kept_bytes` of it by their windows and recurrent
    states. `given_back` counts the bytes that were ever let go.
    """

    def __init__(self, index: PageIndex, cost: KVCost, *, partial_pages: bool) -> None:
        self.index = index
        self._partial_pages = partial_pages
        self.cost = cost
        self.parts: set[Part] = set()
        self.sealed_bytes = 0
        self.kept_bytes = 0
        self.given_back = 0

    def add(self, part: Part) -> None:
        """A part that a row begins."""
        self.parts.add(part)

    def seal(self, part: Part) -> None:
        """A part is open no longer. Where its storage cannot be sealed, nothing has changed, and
        what it raises is raised."""
        part.storage.seal()
        part.open = False
        part.changed()
        self._book(part)
        if not self.cost.dense and part.storage.num_tokens and not self.is_mostly_full(part):
            # Checkpoints lie close together: small parts would be empty for the most part.
            try:
                self.change(part, lambda storage: storage.truncate(storage.num_tokens))
            except Exception:
                log.exception("Empty room could not be given back.")

    def change(self, part: Part, give: Callable[[Storage], None]) -> None:
        """Let a sealed part give something back."""
        num_bytes, extra = part.storage.num_bytes, self.extra_bytes(part)
        give(part.storage)
        part.changed()
        freed = num_bytes - part.storage.num_bytes
        self.sealed_bytes -= freed
        self.given_back += freed
        self.kept_bytes -= extra - self.extra_bytes(part)

    def drop_state(self, part: Part) -> None:
        self.change(part, lambda storage: storage.drop_state())

    def drop_window(self, part: Part, group: int) -> None:
        self.change(part, lambda storage: storage.drop_window(group))

    def extra_bytes(self, part: Part) -> int:
        """Bytes of a part's windows and recurrent state."""
        groups = range(len(self.cost.windows))
        return part.storage.state_bytes + sum(part.storage.window_bytes(group) for group in groups)

    def empty_bytes(self, part: Part) -> int:
        """Bytes of a part that hold nothing: storages are allocated in steps."""
        storage = part.storage
        used = storage.num_tokens * self.cost.bytes_per_token + storage.state_bytes
        for group, window in enumerate(self.cost.windows):
            used += storage.window_tokens(group) * window.bytes_per_token
        return storage.num_bytes - used

    def is_mostly_full(self, part: Part) -> bool:
        """Whether a part's empty room is too little to be worth the copy of giving it back."""
        empty = self.empty_bytes(part)
        return empty * EMPTY_SHARE <= part.storage.num_bytes - empty

    def collect(self, part: Part) -> None:
        """Drop a part that nobody uses and nobody can find, and then whatever it alone kept."""
        while part.dead and part in self.parts:
            self.parts.discard(part)
            self._unbook(part)
            self.given_back += part.storage.num_bytes
            parent = part.parent
            if parent is None:
                return
            parent.children.discard(part)
            parent.changed()
            part.parent = None
            part = parent

    def enter(self, parent: Page, key: bytes, tail: Part, origin: Use | Kept) -> Page:
        """Enter a page below `parent`; its KV is found from `tail` down the chain. Pages that say
        the same and less make way. `origin` as in `PageIndex.add`."""
        end = parent.end + len(key) // TOKEN_BYTES
        holder = tail.covering(end - 1)
        for size in range(TOKEN_BYTES, len(key) + 1, TOKEN_BYTES):
            page = parent.children.get(key[:size])
            if page is not None and (size == len(key) or tail.covering(page.end - 1) is page.part):
                self.collect(self.index.remove(page))
        return self.index.add(parent, key, holder, tail.num_prefilled(parent.end, end), origin)

    def join(self, below: Part, above: Part) -> None:
        """Make the upper of two neighbours the end of the lower, which is sealed. If the upper is
        open, so is what they become. Nothing that is held or found changes but the part it lies
        in. Where the storages cannot be joined, nothing changes, and what they raise is raised."""
        prompt_end = above.prompt_end if below.prompt_end >= below.end else below.prompt_end
        for part in (below, above):
            self._unbook(part)
        try:
            below.storage.absorb(above.storage)
        except Exception:
            for part in (below, above):
                self._book(part)
            raise
        below.prompt_end, below.open = prompt_end, above.open
        self._book(below)
        for page in above.pages.values():
            page.part = below
        below.pages |= above.pages
        below.children.discard(above)
        for child in above.children:
            child.parent = below
        below.children |= above.children
        below.changed()
        for hold in above.holds:
            hold.rejoin(below, above)
        if above.checkpoint is not None:
            above.checkpoint.part = below
            below.checkpoint = above.checkpoint
        self.parts.discard(above)

    def _book(self, part: Part) -> None:
        if not part.open:
            self.sealed_bytes += part.storage.num_bytes
            self.kept_bytes += self.extra_bytes(part)

    def _unbook(self, part: Part) -> None:
        if not part.open:
            self.sealed_bytes -= part.storage.num_bytes
            self.kept_bytes -= self.extra_bytes(part)

    def drop(self, part: Part) -> None:
        """An open part is gone."""
        self.parts.discard(part)
        self.given_back += part.storage.num_bytes
        if part.parent is not None:
            part.parent.children.discard(part)
            part.parent.changed()
            part.parent = None

    def forget_pages(self, part: Part) -> None:
        """Take all pages of an open part out of the index, or over to parts that hold the same."""
        for _, page in sorted(part.pages.items(), reverse=True):
            self.release_page(page, part)
            if page.start < part.base:
                self.shorten(page, part.base, part)

    def shorten(self, page: Page, end: int, part: Part) -> None:
        """Of a page that a part just gave up, keep the tokens before `end` findable on its chain:
        they are still in use."""
        if not self._partial_pages:
            return
        assert page.parent is not None
        key = page.key[: (end - page.start) * TOKEN_BYTES]
        known = page.parent.children.get(key)
        if known is None or known.part is None or known.end > known.part.needed_end:
            self.enter(page.parent, key, part, origin=page)

    def release_page(self, page: Page, part: Part) -> bool:
        """Take a page out of a part: over to another part that holds the same tokens, or (True) out
        of the index."""
        for follower in page.successors():
            heir = follower.covering(page.end - 1)
            assert heir is not part, "a part that a later page stands on is needed"
            self.index.move(page, heir, heir.num_prefilled(page.start, page.end))
            return False
        self.index.evict(page)
        return True

    def keep_checkpoint(self, checkpoint: Checkpoint, use: Use) -> None:
        """Enter a checkpoint, unless its tokens have one already. One that an answer computed makes
        way for one that a prompt computed."""
        known = (checkpoint.node.checkpoints or {}).get(checkpoint.key)
        if known is None:
            self.index.add_checkpoint(checkpoint, use)
        elif checkpoint.computed_by_prefill and not known.computed_by_prefill and not known.holds:
            part = known.part
            self.index.remove_checkpoint(known)
            self.index.add_checkpoint(checkpoint, use)
            self.drop_state(part)
            self.collect(part)
        else:
            self.drop_state(checkpoint.part)

    def adopt(self, page: Page, tail: Part) -> None:
        """A prompt computed what so far only an answer had: its KV is the better one."""
        holder = tail.covering(page.end - 1)
        before = self.index.move(page, holder, tail.num_prefilled(page.start, page.end))
        self.collect(before)
