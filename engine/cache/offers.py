"""What each part would give up first, and what would be lost with it."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cache.eviction import EvictionPolicy, Loss
from engine.cache.kept import Kept
from engine.cache.part import Part
from engine.cache.store import Store


@dataclass(frozen=True, slots=True)
class Offer:
    """`kept` is the page or checkpoint at the end that would go; None where only empty room would,
    or tokens that nobody can take up. `price` is the policy's, of what would be lost.
    `parts_prompts`: several prompts part at the checkpoint."""

    kept: Kept | None = None
    price: float = 0.0
    parts_prompts: bool = False


class Offers:
    """Looks at parts. Where all layers have full attention, what a part offers is remembered until
    something about it changes (`Part.offer`); elsewhere it depends on other parts as well."""

    def __init__(self, store: Store, policy: EvictionPolicy) -> None:
        self._store = store
        self._cost = store.cost
        self._policy = policy

    def of(self, part: Part) -> Offer | None:
        """None if there is nothing that it could give."""
        if part.open:
            return None
        if not self._cost.dense:
            return self._look(part)
        if not part.offer_known:
            part.offer, part.offer_known = self._look(part), True
        return part.offer

    def check(self, part: Part) -> bool:
        """Whether what is remembered of a part, if anything, is so. Its price is what it was when
        the part was looked at: what prefill takes is measured all the time."""
        if not part.offer_known or part.open:
            return True
        known, now = part.offer, self._look(part)
        if known is None or now is None:
            return known is now
        return known.kept is now.kept and known.parts_prompts == now.parts_prompts

    def gives_checkpoint(self, part: Part) -> bool:
        """Whether the state and the windows at a part's end serve nobody but a hit there."""
        return part.needed_end < part.end or self._has_spare(part)

    def window_needed(self, part: Part, group: int) -> bool:
        """Whether a row, or a checkpoint that stands on the part, sees into its window."""
        reach = self._cost.windows[group].reach
        if any(hold.at - reach < part.end for hold in part.holds):
            return True
        ahead = [(child, child.base) for child in part.children]
        while ahead:
            later, seam = ahead.pop()
            if later.checkpoint is not None and later.end - reach < seam:
                return True
            ahead.extend((child, seam) for child in later.children if child.base - reach < seam)
        return False

    def _look(self, part: Part) -> Offer | None:
        needed = part.needed_end
        end = part.end
        gives_end = needed < end or (not self._cost.dense and self._has_spare(part))
        if not gives_end and self._store.empty_bytes(part) <= 0:
            return None
        if not gives_end or not self._store.is_mostly_full(part):
            return _EMPTY
        num_bytes = (end - needed) * self._cost.bytes_per_token
        if part.checkpoint is not None:
            loss = Loss(self._last_state(part), end, num_bytes + self._store.extra_bytes(part))
            at_end = sum(child.base == end for child in part.children)
            return Offer(part.checkpoint, self._policy.price(loss), at_end > 1)
        page = part.pages.get(end)
        if page is None or needed == end or not self._can_end_a_hit(part):
            return _EMPTY
        return Offer(page, self._policy.price(Loss(needed, end, num_bytes)))

    def _can_end_a_hit(self, part: Part) -> bool:
        """Whether a part without a checkpoint has all that a hit in it needs."""
        return not self._cost.recurrent and all(
            part.storage.window_tokens(group) for group in range(len(self._cost.windows))
        )

    def _has_spare(self, part: Part) -> bool:
        """Whether a part that others stand on keeps a state or a window for nobody but a hit at its
        own end."""
        if part.checkpoint is not None and part.checkpoint.holds:
            return False
        return part.storage.state_bytes > 0 or any(
            part.storage.window_tokens(group) and not self.window_needed(part, group)
            for group in range(len(self._cost.windows))
        )

    @staticmethod
    def _last_state(part: Part) -> int:
        """Where a prompt would be taken up without the checkpoint at the part's end."""
        at = part.parent
        while at is not None and (at.checkpoint is None or at.end >= part.end):
            at = at.parent
        return at.end if at is not None else 0


_EMPTY = Offer()
