"""Rows: running requests as the cache sees them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from engine.cache.page import Page
from engine.cache.part import Hold, Part
from engine.cache.standing import Standing

TOKEN_TYPE = "i"  # int32, as in page keys


class Row:
    """A running request: the tokens known so far, the chain of sealed parts it stands on, and its
    own open tail.

    Of `tokens`, the first `num_computed` stand in KV: `num_cached` of them were found, the rest
    computed. The first `num_prompt` came with the request. `num_shared` of them are known to the
    index: more than `num_cached` where nothing could be taken up at the place at which this prompt
    leaves another one; `num_lost` more had been known before they were evicted, and `num_new` more
    are not remembered (both 0 in the background, of which nothing is). `client` runs it;
    with the `standing` it has, what it computes comes in. `gathered` is the heat of the
    conversation that it goes on with; None if it takes up no answer.
    `cold`: it is a newcomer, and the cache thrashes.
    """

    __slots__ = (
        "client",
        "cold",
        "gathered",
        "hold",
        "node",
        "num_cached",
        "num_lost",
        "num_new",
        "num_prompt",
        "num_shared",
        "root",
        "standing",
        "tail",
        "tokens",
    )

    def __init__(
        self,
        tokens: Iterable[int],
        root: Page,
        hold: Hold,
        tail: Part,
        client: str = "",
        standing: Standing = Standing.ORDINARY,
    ) -> None:
        self.tokens = array(TOKEN_TYPE, tokens)
        self.root = root
        self.node = root  # deepest full page of these tokens in the index, as far as this row knows
        self.hold = hold
        self.tail = tail
        self.client = client
        self.standing = standing
        self.gathered: float | None = None
        self.cold = False
        self.num_prompt = len(self.tokens)
        self.num_cached = self.num_shared = tail.base
        self.num_lost = self.num_new = 0

    @property
    def num_computed(self) -> int:
        return self.tail.end

    @property
    def num_uncomputed(self) -> int:
        return len(self.tokens) - self.num_computed

    def key(self, start: int, end: int) -> bytes:
        return self.tokens[start:end].tobytes()
