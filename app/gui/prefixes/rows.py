"""One prefix as the page shows it: what is stored, what the engine has, what it costs. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

from app.prefixes import Price
from app.storage.content import TemplateKind
from app.storage.pins import Pin
from app.storage.templates import Template
from engine.snapshot import PinState, PinStatus

UNDER_WAY = (PinState.QUEUED, PinState.BUILDING)
AS_SYSTEM_MESSAGE = (TemplateKind.SYSTEM_POLICY, TemplateKind.HOUSE_INSTRUCTIONS)


@dataclass(frozen=True, slots=True)
class PrefixRow:
    """`policy` is the template that a pinned tool schema is sent with; `refusal` is why the engine
    does not take the pin; `last_used` is Unix seconds, as far as Ondol has seen it."""

    template: Template
    pin: Pin | None = None
    policy: Template | None = None
    status: PinStatus | None = None
    refusal: str = ""
    price: Price | None = None
    last_used: float | None = None

    @property
    def id(self) -> int:
        return self.template.id

    @property
    def name(self) -> str:
        return self.template.name

    @property
    def kind(self) -> TemplateKind:
        return self.template.kind

    @property
    def deleted(self) -> bool:
        return self.template.deleted_at is not None

    @property
    def pinned(self) -> bool:
        return self.pin is not None and not self.deleted

    @property
    def state(self) -> PinState:
        """What the engine has, or will have: a pin that no model could take yet is queued."""
        if self.status is not None and self.status.state is not PinState.ABSENT:
            return self.status.state
        if self.refusal:
            return PinState.FAILED
        return PinState.QUEUED if self.pinned else PinState.ABSENT

    @property
    def trouble(self) -> str:
        """Why it failed; empty if it did not."""
        if self.state is not PinState.FAILED:
            return ""
        return (self.status.error if self.status else "") or self.refusal

    @property
    def under_way(self) -> bool:
        return self.state in UNDER_WAY

    @property
    def share_done(self) -> float:
        """How much of it stands in memory, 0 to 1."""
        if self.state is PinState.READY:
            return 1.0
        if self.status is None or not self.status.num_tokens:
            return 0.0
        return min(self.status.done_tokens / self.status.num_tokens, 1.0)

    @property
    def num_tokens(self) -> int | None:
        """None until somebody has counted."""
        if self.status is not None and self.status.num_tokens:
            return self.status.num_tokens
        return self.price.num_tokens if self.price else None

    @property
    def num_bytes(self) -> int | None:
        """KV in memory once it is warm; None until somebody has counted."""
        if self.status is not None and self.status.num_bytes:
            return self.status.num_bytes
        return self.price.num_bytes if self.price else None

    @property
    def hits(self) -> int:
        return self.status.hits if self.status else 0
