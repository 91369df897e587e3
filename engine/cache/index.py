"""The index: a tree of pages from each root, and what is found along a prompt (design D3)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.cache.checkpoint import Checkpoint
from engine.cache.ghosts import Ghosts
from engine.cache.identity import Digest, ModelIdentity, page_digest, root_digest
from engine.cache.kept import Kept, Use
from engine.cache.page import TOKEN_BYTES, Page, common_tokens
from engine.cache.part import Part
from engine.cache.row import TOKEN_TYPE, Row
from engine.cache.shares import Shares
from engine.cache.standing import Standing


@dataclass(frozen=True, slots=True)
class Walk:
    """How far the tree knows some tokens: `num_tokens` of them.

    `node` is the deepest full page on the way, `last` the page the last tokens lie in (the same
    one, or a child of it that is used in part), `checkpoints` all on the way, first to last.
    """

    node: Page
    last: Page
    num_tokens: int
    checkpoints: tuple[Checkpoint, ...] = ()


class PageIndex:
    """Pages by their tokens below the page before them. Holds pages and checkpoints, and remembers
    who uses them; knows no memory."""

    def __init__(self, identity: ModelIdentity, page_tokens: int, shares: Shares) -> None:
        self.page_tokens = page_tokens
        self.shares = shares
        self.ghosts = Ghosts()
        self.roots: dict[bytes, Page] = {}
        self.num_pages = 0
        self.num_checkpoints = 0
        self.clock = 0
        self._identity = identity
        self._users: dict[Page, int] = {}  # rows that will publish below a root

    def root(self, salt: str) -> Page:
        """The root of a namespace, made where it is missing."""
        digest = root_digest(self._identity, salt)
        return self.roots.setdefault(digest, Page(None, b"", None, digest))

    def find_root(self, salt: str) -> Page | None:
        return self.roots.get(root_digest(self._identity, salt))

    def use_root(self, root: Page) -> None:
        """A row will publish below a root."""
        self._users[root] = self._users.get(root, 0) + 1

    def leave_root(self, root: Page) -> None:
        """A row that used a root has ended."""
        self._users[root] -= 1
        if not self._users[root]:
            del self._users[root]
        self.forget_root(root)

    def forget_root(self, root: Page) -> None:
        """Drop a root that nothing is found from and nobody uses."""
        if root.digest and not (root.children or root.checkpoints or root in self._users):
            self.roots.pop(root.digest, None)

    def walk(self, root: Page, tokens: Sequence[int], *, prefilled_only: bool = False) -> Walk:
        """Follow `tokens` from a root as far as they are known: full pages by their keys, the rest
        token by token inside the children of the last one. With `prefilled_only`, no further than
        tokens that were computed as part of a prompt."""
        size = self.page_tokens * TOKEN_BYTES
        wanted = array(TOKEN_TYPE, tokens).tobytes()
        node, at = root, 0
        passed = [root] if root.checkpoints else []
        while at + size <= len(wanted) and (child := node.children.get(wanted[at : at + size])):
            if prefilled_only and child.num_prefilled < self.page_tokens:
                break
            node, at = child, at + size
            if node.checkpoints:
                passed.append(node)
        last, extra = node, 0
        rest = wanted[at : at + size]
        for key, child in node.children.items():
            better = (extra + 1) * TOKEN_BYTES  # most siblings need no closer look
            if len(rest) >= better and key[:better] == rest[:better]:
                shared = common_tokens(key, rest)
                if prefilled_only:
                    shared = min(shared, child.num_prefilled)
                if shared > extra:
                    last, extra = child, shared
        found = [
            checkpoint
            for page in passed
            for key, checkpoint in sorted((page.checkpoints or {}).items(), key=_length)
            if wanted.startswith(key, page.end * TOKEN_BYTES)
            and (checkpoint.computed_by_prefill or not prefilled_only)
        ]
        return Walk(node, last, node.end + extra, tuple(found))

    def asked(self, row: Row, at_s: float) -> int:
        """A row has begun, whose full pages after the last that was found have to be computed.
        Returns the tokens of those that had been there before."""
        ends = range(row.node.end + self.page_tokens, row.num_prompt + 1, self.page_tokens)
        return self.page_tokens * self.ghosts.asked(self._names(row, ends), len(ends), at_s)

    def remember(self, page: Page) -> None:
        """A page was computed: it counts for as much as it has come back, but for no more than the
        page it stands on."""
        if page.digest is None:
            return
        heat = self.ghosts.heat_of(page.digest)
        if page.parent is not None and page.parent.parent is not None:
            heat = min(heat, page.parent.heat)
        page.heat = max(page.heat, heat)

    def _names(self, row: Row, ends: Iterable[int]) -> Iterator[Digest]:
        name = row.node.digest
        assert name is not None
        for end in ends:
            name = page_digest(name, row.key(end - self.page_tokens, end))
            yield name

    def add(
        self, parent: Page, key: bytes, part: Part, num_prefilled: int, origin: Use | Kept
    ) -> Page:
        """Enter a page below `parent`; its last token lies in `part`. It was computed in a use, or
        is the beginning of what was kept before."""
        full = len(key) == self.page_tokens * TOKEN_BYTES
        digest = page_digest(parent.digest, key) if full and parent.digest else None
        page = Page(parent, key, part, digest, num_prefilled)
        part.pages[page.end] = page
        part.changed()
        if isinstance(origin, Use):
            page.begin(origin)
        else:
            page.inherit(origin)
        self.shares.charge(page)
        parent.children[key] = page
        self.num_pages += 1
        return page

    def remove(self, page: Page) -> Part:
        """Take a leaf page out. Returns the part it lay in, which may be dead now."""
        assert page.parent
        assert page.part
        assert not page.children
        assert not page.checkpoints
        del page.parent.children[page.key]
        part, page.part = page.part, None
        del part.pages[page.end]
        part.changed()
        self.num_pages -= 1
        self.shares.release(page)
        return part

    def evict(self, page: Page) -> None:
        """Take a leaf page out because its memory is needed."""
        self.remove(page)
        if page.digest is not None and page.standing > Standing.BACKGROUND:
            self.ghosts.went(page.digest, self.num_pages)

    def move(self, page: Page, part: Part, num_prefilled: int) -> Part:
        """Let a page's tokens be found in another part. Returns the part it lay in, which may be
        dead now."""
        assert page.part
        before, page.part = page.part, part
        del before.pages[page.end]
        part.pages[page.end] = page
        before.changed()
        part.changed()
        page.num_prefilled = num_prefilled
        return before

    def add_checkpoint(self, checkpoint: Checkpoint, use: Use) -> None:
        """Enter a checkpoint that was left in a use; there must be none of its tokens."""
        node = checkpoint.node
        if node.checkpoints is None:
            node.checkpoints = {}
        assert checkpoint.key not in node.checkpoints
        node.checkpoints[checkpoint.key] = checkpoint
        checkpoint.part.checkpoint = checkpoint
        checkpoint.begin(use)
        self.shares.charge(checkpoint)
        self.num_checkpoints += 1

    def remove_checkpoint(self, checkpoint: Checkpoint) -> None:
        node = checkpoint.node
        assert node.checkpoints
        del node.checkpoints[checkpoint.key]
        if not node.checkpoints:
            node.checkpoints = None
        checkpoint.part.checkpoint = None
        self.shares.release(checkpoint)
        self.num_checkpoints -= 1

    def touch(self, page: Page, use: Use) -> None:
        """Using a page uses every page before it."""
        at = page
        while at.parent is not None:
            if at.owner != use.client and not at.shared:
                self.shares.share(at)
            at.record(use)
            at = at.parent

    def touch_checkpoint(self, checkpoint: Checkpoint, use: Use) -> None:
        """A hit uses the one state it restores, not those before it (oracle J10)."""
        if checkpoint.owner != use.client and not checkpoint.shared:
            self.shares.share(checkpoint)
        checkpoint.record(use)

    def hot(self, since_s: float) -> tuple[int, list[Checkpoint]]:
        """What is hot and nobody holds: tokens of sealed pages, and checkpoints. A page was hit
        whenever one that follows it was, so the search ends at the first that is not hot."""
        total, found = 0, []
        ahead = list(self.roots.values())
        while ahead:
            page = ahead.pop()
            for child in page.children.values():
                if child.is_hot(since_s):
                    ahead.append(child)
                    total += free_tokens(child)
            checkpoints = (page.checkpoints or {}).values()
            found += [each for each in checkpoints if is_free_and_hot(each, since_s)]
        return total, found


def free_tokens(page: Page) -> int:
    """Tokens of a page that nobody holds."""
    part = page.part
    if part is None or part.open:
        return 0
    return max(0, page.end - max(page.start, part.held_end))


def is_free_and_hot(checkpoint: Checkpoint, since_s: float) -> bool:
    """Whether a checkpoint is hot and nobody needs it now."""
    part = checkpoint.part
    free = not (part.open or part.holds or checkpoint.holds)
    return free and checkpoint.is_hot(since_s)


def root_of(page: Page) -> Page:
    while page.parent is not None:
        page = page.parent
    return page


def _length(entry: tuple[bytes, Checkpoint]) -> int:
    return len(entry[0])
