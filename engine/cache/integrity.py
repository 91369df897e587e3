"""The rules the prefix cache never breaks, checked for real."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.cache.checkpoint import Checkpoint
from engine.cache.convergence import join_runs, window_hit
from engine.cache.identity import page_digest
from engine.cache.index import PageIndex
from engine.cache.kept import Kept
from engine.cache.offers import Offers
from engine.cache.page import TOKEN_BYTES, Page
from engine.cache.part import Part
from engine.cache.row import Row
from engine.cache.shares import Shares
from engine.cache.store import Store
from engine.errors import IntegrityError


def check(index: PageIndex, store: Store, rows: Mapping[Part, Row], offers: Offers) -> None:
    """Raises IntegrityError naming the first broken rule. O(pages + parts)."""
    pages = _check_index(index, store)
    _require(len(pages) == index.num_pages, f"{len(pages)} pages found, {index.num_pages} counted")
    listed = sum(len(part.pages) for part in store.parts)
    _require(listed == index.num_pages, f"parts list {listed} pages, not {index.num_pages}")
    checkpoints = _check_checkpoints(index, store, pages)
    _check_shares(index.shares, (*pages, *checkpoints))
    for part in store.parts:
        _check_part(part, store, rows)
        _require(offers.check(part), f"part [{part.base}, {part.end}): another offer is remembered")
    for tail, row in rows.items():
        _check_row(tail, row)
    _check_books(store)


def _check_index(index: PageIndex, store: Store) -> set[Page]:
    pages: set[Page] = set()
    stack = [child for root in index.roots.values() for child in root.children.values()]
    while stack:
        page = stack.pop()
        pages.add(page)
        stack.extend(page.children.values())
        parent, part = page.parent, page.part
        num_tokens = len(page.key) // TOKEN_BYTES
        _require(
            parent is not None and parent.children.get(page.key) is page,
            "a page is not its parent's child",
        )
        _require(
            page.end == (parent.end if parent else 0) + num_tokens, f"page end {page.end} is off"
        )
        _require(part is not None and part in store.parts, f"page at {page.end} has no living part")
        assert parent is not None
        assert part is not None
        _require(part.pages.get(page.end) is page, f"page at {page.end} is unknown to its part")
        _require(
            part.base < page.end <= part.end,
            f"page at {page.end} lies outside part [{part.base}, {part.end})",
        )
        _require(
            0 <= page.num_prefilled <= num_tokens,
            f"{page.num_prefilled} of the {num_tokens} tokens of a page come from a prompt",
        )
        if num_tokens == index.page_tokens:
            _require(parent.digest is not None, "a page follows a partly filled one")
            assert parent.digest is not None
            _require(
                page.digest == page_digest(parent.digest, page.key),
                f"digest of page at {page.end} is wrong",
            )
        else:
            _require(0 < num_tokens < index.page_tokens, f"a page of {num_tokens} tokens")
            _require(
                page.digest is None and not page.children and not page.checkpoints,
                "a partly filled page has a digest, children or checkpoints",
            )
    return pages


def _check_shares(shares: Shares, everything: Iterable[Kept]) -> None:
    counted = shares.counted(everything)
    _require(counted == shares.bytes_of, f"clients keep {counted}, not {shares.bytes_of}")


def _check_checkpoints(index: PageIndex, store: Store, pages: set[Page]) -> list[Checkpoint]:
    found = [
        (node, key, checkpoint)
        for node in (*pages, *index.roots.values())
        for key, checkpoint in (node.checkpoints or {}).items()
    ]
    _require(
        len(found)
        == index.num_checkpoints
        == sum(part.checkpoint is not None for part in store.parts),
        f"{len(found)} checkpoints found, {index.num_checkpoints} counted",
    )
    for node, key, checkpoint in found:
        part = checkpoint.part
        where = f"checkpoint at {checkpoint.end}"
        _require(
            part in store.parts and not part.open and part.checkpoint is checkpoint,
            f"{where}: its part is gone or open",
        )
        _require(checkpoint.node is node and checkpoint.key == key, f"{where}: found elsewhere")
        _require(
            node.end + len(key) // TOKEN_BYTES == checkpoint.end
            and len(key) < index.page_tokens * TOKEN_BYTES,
            f"{where}: its tokens end elsewhere",
        )
        _require(
            bool(part.storage.state_bytes) == store.cost.recurrent, f"{where}: without a state"
        )
        views = part.chain(part.end)
        for group, window in enumerate(store.cost.windows):
            runs = join_runs(
                (max(of.base, of.end - of.storage.window_tokens(group)), min(of.end, view.end))
                for view in views
                for of in (view.part,)
            )
            _require(
                window_hit(runs, window.reach, 1, part.end) == part.end,
                f"{where}: a window of {window.window} tokens is not whole",
            )
    return [checkpoint for _, _, checkpoint in found]


def _check_part(part: Part, store: Store, rows: Mapping[Part, Row]) -> None:
    where = f"part [{part.base}, {part.end})"
    _require(part.open == (part in rows), f"{where}: open without an owner, or owned and sealed")
    _require(not part.dead, f"{where}: nobody uses or finds it, yet it lives")
    _require(
        part.storage.num_tokens >= 0 and part.storage.num_bytes >= 0, f"{where}: negative size"
    )
    _require(part.parent is not None or part.base == 0, f"{where}: stands on nothing")
    if part.parent is not None:
        _require(part.parent in store.parts, f"{where}: its parent is gone")
        _require(part in part.parent.children, f"{where}: unknown to its parent")
        _require(part.base <= part.parent.end, f"{where}: its parent ends at {part.parent.end}")
        _require(not part.parent.open, f"{where}: stands on an open part")
    _require(part.needed_end <= part.end, f"{where}: {part.needed_end} tokens are needed of it")
    held_end = max(part.holds.values(), default=part.base)
    _require(part.held_end == held_end, f"{where}: held to {held_end}, known to {part.held_end}")
    for hold, end in part.holds.items():
        _require(
            any(view.part is part and view.end == end for view in hold.views),
            f"{where}: unknown hold",
        )
    for group in range(len(store.cost.windows)):
        held = part.storage.window_tokens(group)
        _require(0 <= held <= part.storage.num_tokens, f"{where}: a window of {held} tokens")


def _check_row(tail: Part, row: Row) -> None:
    _require(row.tail is tail, "a row does not own its tail")
    _require(len(row.tokens) >= row.num_computed, "a row stands on tokens it does not have")
    at = 0
    for view in row.hold.views:
        _require(view.part.base == at, f"a row's chain breaks at {at}")
        at = view.end
    _require(at == tail.base, f"a row's chain ends at {at}, its tail begins at {tail.base}")


def _check_books(store: Store) -> None:
    sealed = [part for part in store.parts if not part.open]
    total = sum(part.storage.num_bytes for part in sealed)
    _require(
        total == store.sealed_bytes, f"{total} bytes are sealed, the books say {store.sealed_bytes}"
    )
    extra = sum(store.extra_bytes(part) for part in sealed)
    _require(extra == store.kept_bytes, f"{extra} bytes are kept, the books say {store.kept_bytes}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise IntegrityError(message)
