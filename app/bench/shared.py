"""What `ondol bench shared` measures, and the ratios in it.

Seconds and bytes throughout. Ratios are taken between blocks of steps measured next to each other,
before the median.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.bench.stats import Estimate, estimate, median

WARM_UP_STEPS = 1
ORDINARY_STEPS = 3  # before a row joins, with it, and after it has left
REGROUP_TOKENS = 3 * ORDINARY_STEPS + 6  # most that a row generates while one joins and leaves

MOST_ROWS = 64

_JOIN_STEPS = 4
_SLACK_TOKENS = 8


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """How many rows fit where `copies` rows on copies do: rows of `prefix_tokens` shared tokens and
    `suffix_tokens` of their own. At most `MOST_ROWS` are tried."""

    prefix_tokens: int
    suffix_tokens: int
    copies: int

    @property
    def shared_share(self) -> float:
        return self.prefix_tokens / (self.prefix_tokens + self.suffix_tokens)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure.

    On a prefix of each of `prefixes` tokens, for each number of `clients` with `suffix_tokens` of
    their own, `blocks` pairs of `block_steps` decode steps. On each prefix `repeats` times: a row
    joins `group` - 1 others and leaves them again, `group` - 1 followers get their first tokens,
    one client is served alone.
    """

    prefixes: tuple[int, ...]
    clients: tuple[int, ...]
    suffix_tokens: int
    blocks: int
    block_steps: int
    group: int
    repeats: int
    capacity: CapacityPlan | None

    @property
    def followers(self) -> int:
        return self.group - 1

    @property
    def answer_tokens(self) -> int:
        """More than any row generates."""
        decoding = WARM_UP_STEPS + self.blocks * self.block_steps
        answers = 0 if self.capacity is None else MOST_ROWS
        following = _JOIN_STEPS * self.group
        regrouping = following + REGROUP_TOKENS * self.repeats
        return _SLACK_TOKENS + max(decoding, regrouping, answers)

    @property
    def longest_tokens(self) -> int:
        """More than any row has tokens."""
        longest = max(self.prefixes) + self.suffix_tokens
        if self.capacity is not None:
            longest = max(longest, self.capacity.prefix_tokens + self.capacity.suffix_tokens)
        return longest + self.answer_tokens

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Plan:
        capacity = data["capacity"]
        known = dict(data) | {
            "prefixes": tuple(data["prefixes"]),
            "clients": tuple(data["clients"]),
            "capacity": None if capacity is None else CapacityPlan(**capacity),
        }
        return Plan(**known)


@dataclass(frozen=True, slots=True)
class Side:
    """Clients on one prefix, on one side: bytes of KV, seconds to the first token of each client,
    and seconds of a step, one for each block."""

    kv_bytes: int
    ttft_s: tuple[float, ...]
    step_s: tuple[float, ...]

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Side:
        return Side(data["kv_bytes"], tuple(data["ttft_s"]), tuple(data["step_s"]))


@dataclass(frozen=True, slots=True)
class ClientsResult:
    """So many clients on one prefix: sharing it, and on copies (None where those do not fit into
    memory). `alone_step_s`: one client by mlx-lm's `generate_step`, without a batch."""

    clients: int
    shared: Side
    copies: Side | None
    alone_step_s: tuple[float, ...] = ()

    @property
    def over_copies(self) -> Estimate | None:
        """Time of a step, sharing / copies."""
        if self.copies is None:
            return None
        return _ratio(self.shared.step_s, self.copies.step_s)

    @property
    def over_alone(self) -> Estimate | None:
        return _ratio(self.shared.step_s, self.alone_step_s) if self.alone_step_s else None

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ClientsResult:
        copies = data["copies"]
        return ClientsResult(
            data["clients"],
            Side.from_json(data["shared"]),
            None if copies is None else Side.from_json(copies),
            tuple(data["alone_step_s"]),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """What it cost, beyond the steps it lasted, that a row joined and that one left."""

    join_s: float
    leave_s: float


@dataclass(frozen=True, slots=True)
class Regroup:
    """One row joined a running batch and left it, on both sides. `suffix_s`: what computing its
    suffix takes at least."""

    suffix_s: float
    shared: Change
    copies: Change | None


@dataclass(frozen=True, slots=True)
class Follow:
    """First tokens of all followers: in one step, one by one on the shared prefix, one by one with
    a copy of it for each, and (information) by joining mlx-lm's batch one by one; None where that
    was not tried."""

    together_s: float
    one_by_one_s: float
    on_copies_s: float
    joined_s: float | None


@dataclass(frozen=True, slots=True)
class WarmOne:
    """One client on the warm prefix, to its first token, and plain mlx-lm on its suffix with the
    KV of the prefix in place."""

    ttft_s: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class PrefixResult:
    """Everything on one prefix. `bytes_per_token` is the price of a token's KV."""

    prefix_tokens: int
    suffix_tokens: int
    bytes_per_token: int
    group: int
    clients: tuple[ClientsResult, ...]
    regroups: tuple[Regroup, ...]
    follows: tuple[Follow, ...]
    warm: tuple[WarmOne, ...]

    def needed_bytes(self, clients: int) -> int:
        """One copy of the prefix, and what each client has of its own, to the token."""
        own = self.suffix_tokens + WARM_UP_STEPS
        return (self.prefix_tokens + clients * own) * self.bytes_per_token

    @property
    def join_beyond_suffix_s(self) -> Estimate:
        return estimate([one.shared.join_s - one.suffix_s for one in self.regroups])

    @property
    def together(self) -> Estimate:
        """First tokens of all followers, together / one by one with a copy each (design D5)."""
        return estimate([one.together_s / one.on_copies_s for one in self.follows])

    @property
    def over_limit(self) -> Estimate:
        """Warm time to the first token / the limit."""
        return estimate([one.ttft_s / one.limit_s for one in self.warm])

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PrefixResult:
        regroups = tuple(
            Regroup(
                one["suffix_s"],
                Change(**one["shared"]),
                None if one["copies"] is None else Change(**one["copies"]),
            )
            for one in data["regroups"]
        )
        known = dict(data) | {
            "clients": tuple(map(ClientsResult.from_json, data["clients"])),
            "regroups": regroups,
            "follows": tuple(Follow(**one) for one in data["follows"]),
            "warm": tuple(WarmOne(**one) for one in data["warm"]),
        }
        return PrefixResult(**known)


@dataclass(frozen=True, slots=True)
class CapacityResult:
    """`copies_rows` rows on copies took `copies_bytes`; `shared_rows` that share took
    `shared_bytes`, no more than that. `shared_share` of each row is common."""

    shared_share: float
    copies_rows: int
    copies_bytes: int
    shared_rows: int
    shared_bytes: int
    prefix_tokens: int

    @property
    def times_as_many(self) -> float:
        return self.shared_rows / self.copies_rows


@dataclass(frozen=True, slots=True)
class SharedResults:
    """A whole run, shortest prefix first."""

    prefixes: tuple[PrefixResult, ...]
    capacity: CapacityResult | None

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SharedResults:
        capacity = data["capacity"]
        return SharedResults(
            tuple(map(PrefixResult.from_json, data["prefixes"])),
            None if capacity is None else CapacityResult(**capacity),
        )


def middle(values: tuple[float, ...]) -> float:
    """The median; 0.0 where nothing was measured."""
    return median(values) if values else 0.0


def _ratio(upper: tuple[float, ...], lower: tuple[float, ...]) -> Estimate:
    return estimate([a / b for a, b in zip(upper, lower, strict=True)])
