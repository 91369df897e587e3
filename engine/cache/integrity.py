"""The rules the prefix cache never breaks, checked for real."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from engine.cache.identity import page_digest
from engine.cache.page import TOKEN_BYTES, Page
from engine.cache.part import Part
from engine.cache.row import Row
from engine.errors import IntegrityError


def check(
    roots: Iterable[Page],
    parts: Collection[Part],
    rows: Mapping[Part, Row],
    num_pages: int,
    page_tokens: int,
) -> None:
    """Raises IntegrityError naming the first broken rule. O(pages + parts)."""
    pages = _check_index(roots, parts, page_tokens)
    _require(len(pages) == num_pages, f"{len(pages)} pages in the index, {num_pages} counted")
    listed = sum(len(part.pages) for part in parts)
    _require(listed == num_pages, f"parts list {listed} pages, the index has {num_pages}")
    for part in parts:
        _check_part(part, parts, rows)
    for tail, row in rows.items():
        _check_row(tail, row)


def _check_index(roots: Iterable[Page], parts: Collection[Part], page_tokens: int) -> set[Page]:
    pages: set[Page] = set()
    stack = [child for root in roots for child in root.children.values()]
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
        _require(part is not None and part in parts, f"page at {page.end} has no living part")
        assert parent is not None
        assert part is not None
        _require(page in part.pages, f"page at {page.end} is unknown to its part")
        _require(
            part.base < page.end <= part.end,
            f"page at {page.end} lies outside part [{part.base}, {part.end})",
        )
        if num_tokens == page_tokens:
            _require(parent.digest is not None, "a page follows a partly filled one")
            assert parent.digest is not None
            _require(
                page.digest == page_digest(parent.digest, page.key),
                f"digest of page at {page.end} is wrong",
            )
        else:
            _require(0 < num_tokens < page_tokens, f"a page of {num_tokens} tokens")
            _require(
                page.digest is None and not page.children,
                "a partly filled page has a digest or children",
            )
    return pages


def _check_part(part: Part, parts: Collection[Part], rows: Mapping[Part, Row]) -> None:
    where = f"part [{part.base}, {part.end})"
    _require(part.open == (part in rows), f"{where}: open without an owner, or owned and sealed")
    _require(not part.dead, f"{where}: nobody uses or finds it, yet it lives")
    _require(
        part.storage.num_tokens >= 0 and part.storage.num_bytes >= 0, f"{where}: negative size"
    )
    _require(part.parent is not None or part.base == 0, f"{where}: stands on nothing")
    if part.parent is not None:
        _require(part.parent in parts, f"{where}: its parent is gone")
        _require(part in part.parent.children, f"{where}: unknown to its parent")
        _require(part.base <= part.parent.end, f"{where}: its parent ends at {part.parent.end}")
        _require(not part.parent.open, f"{where}: stands on an open part")
    _require(part.needed_end <= part.end, f"{where}: {part.needed_end} tokens are needed of it")
    for hold, end in part.holds.items():
        _require(
            any(view.part is part and view.end == end for view in hold.views),
            f"{where}: unknown hold",
        )


def _check_row(tail: Part, row: Row) -> None:
    _require(row.tail is tail, "a row does not own its tail")
    _require(len(row.tokens) >= row.num_computed, "a row stands on tokens it does not have")
    at = 0
    for view in row.hold.views:
        _require(view.part.base == at, f"a row's chain breaks at {at}")
        at = view.end
    _require(at == tail.base, f"a row's chain ends at {at}, its tail begins at {tail.base}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise IntegrityError(message)
