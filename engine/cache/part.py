"""Parts, views and holds: where KV lives and who needs it (design D2).

A part is a run of consecutive tokens with one storage. Parts form a tree: a part stands on the
first `base` tokens of its parent's chain. That makes a prefix a chain of views, makes eviction
leaf-first, and lets a row attach at any token.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engine.cache.checkpoint import Checkpoint
    from engine.cache.offers import Offer
    from engine.cache.page import Page


class Storage(Protocol):
    """State of one part in every layer: KV of all its tokens in full-attention layers, of its last
    tokens in sliding ones, and, once sealed, the recurrent state at its end. The cache knows sizes,
    never arrays.

    Groups of sliding layers are numbered as in `Layout.windows`.
    """

    @property
    def num_tokens(self) -> int:
        """Tokens stored."""

    @property
    def num_bytes(self) -> int:
        """Bytes allocated for everything, which may be more than the tokens need."""

    @property
    def state_bytes(self) -> int:
        """Bytes of the recurrent state kept at the end; 0 if there is none."""

    def window_tokens(self, group: int) -> int:
        """How many of the last tokens a group of sliding layers still has."""

    def window_bytes(self, group: int) -> int:
        """Bytes allocated for a group of sliding layers."""

    def growth_bytes(self, num_tokens: int) -> int:
        """Bytes that appending `num_tokens` tokens would allocate."""

    def seal(self) -> None:
        """Make the storage immutable. Copies nothing but what it has had in common with others.
        Where it fails, nothing has changed."""

    def successor(self) -> Storage:
        """An empty storage that goes on from the end of this sealed one, recurrent state
        included."""

    def truncate(self, num_tokens: int) -> None:
        """Keep the first `num_tokens` tokens of a sealed storage and give all other memory back,
        one layer at a time, so that the transient copy is one layer's share. Where that is not all
        of them, a recurrent state is lost, since it is right at the end only."""

    def absorb_bytes(self, other: Storage) -> int:
        """Most bytes that `absorb` needs for a moment beside what both hold."""

    def absorb(self, other: Storage) -> None:
        """Take over all that another storage holds, which goes on where this sealed one ends; one
        layer at a time. If the other is open, this one is open again. The other is not used again.
        Where it fails, both are as they were."""

    def drop_state(self) -> None:
        """Give the recurrent state of a sealed storage back."""

    def drop_window(self, group: int) -> None:
        """Give a group of sliding layers of a sealed storage back."""


_serials = itertools.count()


class Part:
    """Consecutive tokens [base, end) of one prefix. Open while a row appends to it, sealed for ever
    after."""

    __slots__ = (
        "_held_end",
        "base",
        "checkpoint",
        "children",
        "holds",
        "offer",
        "offer_known",
        "open",
        "pages",
        "parent",
        "prompt_end",
        "serial",
        "storage",
    )

    def __init__(
        self, base: int, parent: Part | None, storage: Storage, prompt_end: int = sys.maxsize
    ) -> None:
        self.serial = next(_serials)  # breaks ties the same way in every run
        self.base = base
        self.parent = parent
        self.storage = storage
        self.prompt_end = prompt_end  # tokens from here on were computed as part of an answer
        self.open = True
        self.children: set[Part] = set()
        self.holds: dict[Hold, int] = {}
        self.pages: dict[int, Page] = {}  # index entries whose last token lies here, by their end
        self.checkpoint: Checkpoint | None = None  # at the end
        self.offer: Offer | None = None  # what it would give up first, once that is known
        self.offer_known = False
        self._held_end: int | None = None
        if parent is not None:
            parent.children.add(self)
            parent.changed()

    @property
    def end(self) -> int:
        return self.base + self.storage.num_tokens

    @property
    def needed_end(self) -> int:
        """Tokens before this position are in use: by a hold, or because a child part stands on
        them."""
        return max([self.held_end, *(child.base for child in self.children)])

    @property
    def held_end(self) -> int:
        """Tokens before this position are held by somebody."""
        if self._held_end is None:  # a thousand may hold the beginning that all share
            self._held_end = max(self.holds.values(), default=self.base)
        return self._held_end

    @property
    def dead(self) -> bool:
        """Nobody uses the part and nobody can find it."""
        return not (
            self.open or self.pages or self.children or self.holds or self.checkpoint is not None
        )

    def changed(self) -> None:
        """Its storage, its pages or those who need it are others now: look at it again."""
        self.offer_known = False
        self._held_end = None

    def chain(self, end: int) -> tuple[View, ...]:
        """Views that cover tokens [0, end), first to last. `end` lies in (0, self.end]."""
        views: list[View] = []
        part: Part | None = self
        while part is not None:
            if part.base < end:
                views.append(View(part, end))
                end = part.base
            part = part.parent
        views.reverse()
        return tuple(views)

    def ancestry(self) -> list[Part]:
        """This part, the one it stands on, and so on down to position 0."""
        line = [self]
        while (parent := line[-1].parent) is not None:
            line.append(parent)
        return line

    def num_prefilled(self, start: int, end: int) -> int:
        """How many of the tokens [start, end) of this part's chain, from the first on, were
        computed as part of a prompt."""
        prefilled_end = upper = end
        part = self.covering(end - 1)
        while True:
            if part.prompt_end < upper:
                prefilled_end = max(part.prompt_end, part.base)
            if part.base <= start or part.parent is None:
                return max(0, prefilled_end - start)
            upper, part = part.base, part.parent

    def covering(self, position: int) -> Part:
        """The part of this part's chain that holds the token at `position`."""
        part = self
        while part.base > position:
            assert part.parent is not None, "a chain begins at position 0"
            part = part.parent
        return part


@dataclass(frozen=True, slots=True)
class View:
    """Tokens [part.base, end) of a part, `shift` positions further on than they were computed for:
    none in a plain prefix."""

    part: Part
    end: int
    shift: int = 0

    @property
    def num_tokens(self) -> int:
        return self.end - self.part.base


class Hold:
    """Keeps a chain of views from eviction: a running row, a pin, a request about to start. With a
    `checkpoint`, it keeps that too."""

    __slots__ = ("checkpoint", "owner", "row_at", "views")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.views: list[View] = []
        self.row_at = 0  # how far the row has come that goes on from here, if it is one's
        self.checkpoint: Checkpoint | None = None

    @property
    def end(self) -> int:
        """Tokens held, from position 0."""
        return self.views[-1].end if self.views else 0

    @property
    def at(self) -> int:
        """The position that looks back at what is held: a sliding window sees no more than its
        reach before it."""
        return max(self.end, self.row_at)

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep the checkpoint at the end of the chain."""
        self.checkpoint = checkpoint
        checkpoint.holds += 1

    def add(self, view: View) -> None:
        self.views.append(view)
        view.part.holds[self] = max(view.end, view.part.holds.get(self, 0))
        view.part.changed()

    def rejoin(self, below: Part, above: Part) -> None:
        """Two neighbours of the chain have become one: the lower."""
        at = next(i for i, view in enumerate(self.views) if view.part is above)
        assert self.views[at - 1].part is below
        view = View(below, self.views[at].end)
        self.views[at - 1 : at + 1] = [view]
        below.holds[self] = view.end
        below.changed()

    def drop_last(self) -> None:
        """Let go of the end of the chain."""
        part = self.views.pop().part
        del part.holds[self]
        part.changed()

    def release(self) -> Iterator[Part]:
        """Let go of everything; yields the parts that were held, last first."""
        if self.checkpoint is not None:
            self.checkpoint.holds -= 1
            self.checkpoint = None
        for view in reversed(self.views):
            view.part.holds.pop(self, None)
            view.part.changed()
            yield view.part
        self.views.clear()
