"""The engine's settings: one validated, immutable object. Reasons for the defaults are in
ARCHITECTURE.md."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.errors import ConfigError

MIB = 1024 * 1024
GIB = 1024 * MIB
MIN_KV_BUDGET_BYTES = 256 * MIB


class ExactReuse(enum.Enum):
    """Which KV serves again. Other kernels compute an answer's tokens than a prompt's, which on
    some devices differ in the last digits (algorithms §2.12)."""

    ALL = "all"
    PREFILL_ONLY = "prefill-only"


class Eviction(enum.Enum):
    """What goes first when memory is short."""

    LRU = "lru"  # what was last used longest ago; for comparison
    WORTH = "worth"  # what saves least for its bytes, by how likely it is used again


class Publication(enum.Enum):
    """When what a request computes can be found by others. All but the default are for
    comparison (S0-3, S0-4, S0-8)."""

    ON_COMPLETION = "on_completion"
    ON_PREFILL = "on_prefill"
    INCREMENTAL = "incremental"


class Release(enum.Enum):
    """When a request that waits for what another computes may go on. All but the default are for
    comparison (S0-7, S0-8)."""

    INDEPENDENT = "independent"  # at once: nobody waits
    LEADER_FINISHED = "leader_finished"
    PREFILL_FINISHED = "prefill_finished"
    BOUNDARY_PUBLISHED = "boundary_published"


class WaitOrCompute(enum.Enum):
    """Whether a request waits for what another computes already. All but the default are for
    comparison (S0-18)."""

    CHOOSE = "choose"  # whichever is expected to bring its first token sooner
    WAIT = "wait"
    COMPUTE = "compute"


class PrefillOrder(enum.Enum):
    """Which of several prompts is computed next (S0-17). In every order a request moves forward
    with the time it has waited, so that nobody waits for ever, except in round robin, where all
    move at once."""

    LONGEST_CACHED = "longest_cached"  # most of its prompt was found, then shortest to compute
    FIRST_COME = "first_come"
    SHORTEST = "shortest"  # least left to compute
    ROUND_ROBIN = "round_robin"  # a chunk each, in turn


class AdmissionMode(enum.Enum):
    """What raising the number of running requests may cost the warm prefixes (S3-5, S3-9)."""

    PROTECT_CACHE = "protect-cache"  # nothing that is hot; hardly ever must one who runs make room
    BALANCED = "balanced"  # half of what is hot
    MAX_THROUGHPUT = "max-throughput"  # all of it; whoever runs may have to make room again
    AUTO = "auto"  # as the traffic of the last while needs it


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Settings of one engine.

    kv_budget_bytes   most bytes of KV, running and resident together (design D6); None: chosen
                      by the device
    page_tokens       tokens of a page
    match_unit        a hit ends on a multiple of this many tokens; divides page_tokens; 1 matches
                      to the token
    exact_reuse       what is found again: everything, or only KV that was computed as part of a
                      prompt
    checkpoint_spacing  a long prompt leaves a checkpoint every so many tokens, where the model
                      needs them
    max_checkpoint_share  most of the budget that windows and recurrent states may take
    eviction          what goes first when memory is short
    max_client_share  share of the budget beyond which a client's KV goes before that of others
    publication       when computed KV can be found by others
    release           when a request that waits for another may go on
    wait_or_compute   whether it waits
    prefill_order     which of several prompts is computed next
    admission         how much of the memory stays for warm prefixes when requests start
    max_running       most requests that run at once, whatever the memory allows
    max_queue         most requests that wait; beyond it submit raises QueueFull
    prefill_chunk     most prompt tokens in one forward pass, at least 64; None: chosen by the
                      device
    step_target_s     a prefill chunk beside running decodes should not take longer; None: chosen
                      by the device
    max_pin_share     most of the budget that pins may take
    hang_limit_s      a step that takes longer counts as hung
    restart_delay_s   pause before a dead engine thread is started again; doubles with each death,
                      up to 30 s
    check_integrity   run every structure's own check after every step (tests, development)
    """

    kv_budget_bytes: int | None = None
    page_tokens: int = 16
    match_unit: int = 1
    exact_reuse: ExactReuse = ExactReuse.ALL
    checkpoint_spacing: int = 8192
    max_checkpoint_share: float = 0.5
    eviction: Eviction = Eviction.WORTH
    max_client_share: float = 0.5
    publication: Publication = Publication.INCREMENTAL
    release: Release = Release.BOUNDARY_PUBLISHED
    wait_or_compute: WaitOrCompute = WaitOrCompute.CHOOSE
    prefill_order: PrefillOrder = PrefillOrder.LONGEST_CACHED
    admission: AdmissionMode = AdmissionMode.PROTECT_CACHE
    max_running: int = 16
    max_queue: int = 256
    prefill_chunk: int | None = None
    step_target_s: float | None = None
    max_pin_share: float = 0.5
    hang_limit_s: float = 120.0
    restart_delay_s: float = 0.5
    check_integrity: bool = False

    def __post_init__(self) -> None:
        if self.kv_budget_bytes is not None and self.kv_budget_bytes <= 0:
            raise ConfigError(f"kv_budget_bytes must be positive, not {self.kv_budget_bytes}")
        if self.page_tokens <= 0:
            raise ConfigError(f"page_tokens must be at least 1, not {self.page_tokens}")
        if self.match_unit <= 0 or self.page_tokens % self.match_unit:
            raise ConfigError(
                f"match_unit must divide page_tokens ({self.page_tokens}), which"
                f" {self.match_unit} does not"
            )
        if self.checkpoint_spacing <= 0:
            raise ConfigError(
                f"checkpoint_spacing must be at least 1, not {self.checkpoint_spacing}"
            )
        if not 0.0 <= self.max_checkpoint_share <= 1.0:
            raise ConfigError(
                f"max_checkpoint_share must lie between 0 and 1, not {self.max_checkpoint_share}"
            )
        if not 0.0 < self.max_client_share <= 1.0:
            raise ConfigError(
                f"max_client_share must lie above 0 and not above 1, not {self.max_client_share}"
            )
        if self.max_running <= 0:
            raise ConfigError(f"max_running must be at least 1, not {self.max_running}")
        if self.max_queue < 0:
            raise ConfigError(f"max_queue must not be negative, not {self.max_queue}")
        if self.prefill_chunk is not None and self.prefill_chunk <= 0:
            raise ConfigError(f"prefill_chunk must be at least 1, not {self.prefill_chunk}")
        if not 0.0 <= self.max_pin_share <= 1.0:
            raise ConfigError(f"max_pin_share must lie between 0 and 1, not {self.max_pin_share}")
        if self.hang_limit_s <= 0 or self.restart_delay_s < 0:
            raise ConfigError("hang_limit_s must be positive and restart_delay_s not negative")
        if self.step_target_s is not None and self.step_target_s <= 0:
            raise ConfigError(f"step_target_s must be positive, not {self.step_target_s}")
