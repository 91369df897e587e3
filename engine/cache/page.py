"""Pages: index entries of the prefix tree (design D3).

A page is 16 consecutive tokens (fewer at the open end of a sequence) below the page before them. It
owns no memory: its KV lies in parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.cache.checkpoint import Checkpoint
from engine.cache.cost import KVCost
from engine.cache.identity import Digest
from engine.cache.kept import Kept
from engine.cache.part import Part

TOKEN_BYTES = 4


class Page(Kept):
    """Tokens [start, end) after their parent's. `key` holds them as int32 bytes; the first
    `num_prefilled` of them were computed as part of a prompt, the others as part of an answer.
    `past_answer`: some of them, or of those before, were at first part of an answer."""

    __slots__ = (
        "checkpoints",
        "children",
        "digest",
        "end",
        "key",
        "num_prefilled",
        "parent",
        "part",
        "past_answer",
    )

    def __init__(
        self,
        parent: Page | None,
        key: bytes,
        part: Part | None,
        digest: Digest | None,
        num_prefilled: int = 0,
    ) -> None:
        super().__init__()
        self.parent = parent
        self.key = key
        self.part = part  # holds the page's last token; None for a root and after eviction
        self.digest = digest  # None while the page is partly filled
        self.end: int = (parent.end if parent else 0) + len(key) // TOKEN_BYTES
        self.num_prefilled = num_prefilled
        has_answer = num_prefilled * TOKEN_BYTES < len(key)
        self.past_answer: bool = has_answer or (parent is not None and parent.past_answer)
        self.children: dict[bytes, Page] = {}
        self.checkpoints: dict[bytes, Checkpoint] | None = None  # before the next page, by tokens

    @property
    def start(self) -> int:
        return self.end - len(self.key) // TOKEN_BYTES

    def price(self, cost: KVCost) -> int:
        return len(self.key) // TOKEN_BYTES * cost.bytes_per_token

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
