"""Pages: index entries of the prefix tree (design D3).

A page is 16 consecutive tokens (fewer at the open end of a sequence) below the page before them. It
owns no memory: its KV lies in parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.cache.checkpoint import Checkpoint
from engine.cache.identity import Digest
from engine.cache.part import Part

TOKEN_BYTES = 4


class Page:
    """Tokens [start, end) after their parent's. `key` holds them as int32 bytes; the first
    `num_prefilled` of them were computed as part of a prompt, the others as part of an answer."""

    __slots__ = (
        "checkpoints",
        "children",
        "digest",
        "end",
        "hits",
        "key",
        "last_used",
        "num_prefilled",
        "parent",
        "part",
    )

    def __init__(
        self,
        parent: Page | None,
        key: bytes,
        part: Part | None,
        digest: Digest | None,
        num_prefilled: int = 0,
    ) -> None:
        self.parent = parent
        self.key = key
        self.part = part  # holds the page's last token; None for a root and after eviction
        self.digest = digest  # None while the page is partly filled
        self.end: int = (parent.end if parent else 0) + len(key) // TOKEN_BYTES
        self.num_prefilled = num_prefilled
        self.children: dict[bytes, Page] = {}
        self.checkpoints: dict[bytes, Checkpoint] | None = None  # before the next page, by tokens
        self.last_used = 0
        self.hits = 0

    @property
    def start(self) -> int:
        return self.end - len(self.key) // TOKEN_BYTES

    @property
    def attached(self) -> bool:
        """Whether the page is in the index: found from its root."""
        return self.parent is None or self.part is not None

    def successors(self) -> Iterator[Part]:
        """Parts that hold what follows this page, and therefore stand on its tokens too."""
        for child in self.children.values():
            assert child.part is not None
            yield child.part
        for checkpoint in (self.checkpoints or {}).values():
            yield checkpoint.part


def common_tokens(a: bytes, b: bytes) -> int:
    """Length in tokens of the longest common prefix of two keys."""
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit // TOKEN_BYTES
    for n in range(0, limit, TOKEN_BYTES):
        if a[n : n + TOKEN_BYTES] != b[n : n + TOKEN_BYTES]:
            return n // TOKEN_BYTES
    raise AssertionError("unequal keys differ somewhere")
