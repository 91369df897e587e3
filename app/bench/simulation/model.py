"""What a model costs on a device: bytes of KV and seconds of a forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens [start, start + num_tokens) of one row that a pass computes."""

    start: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """Prices of a model on a device, in bytes and seconds.

    A prompt's tokens take `prefill_token_s` each, and `prefill_depth_s` for every token that each
    of them attends to (algorithms §2.9). A pass in which rows decode takes `step_s`, `row_s` for
    each row and `kv_token_s` for each token of KV it reads.

    `kv_budget_bytes`, `prefill_chunk` and `step_target_s` are what the device chooses where the
    engine's settings leave it open.
    """

    name: str
    bytes_per_token: int
    prefill_token_s: float
    prefill_depth_s: float
    step_s: float
    row_s: float
    kv_token_s: float
    kv_budget_bytes: int
    prefill_chunk: int = 2048
    step_target_s: float = 0.1

    def prefill_s(self, stretch: Stretch) -> float:
        """To compute tokens of a prompt behind those before them."""
        depth = stretch.start + stretch.num_tokens / 2
        return stretch.num_tokens * (self.prefill_token_s + self.prefill_depth_s * depth)

    def decode_s(self, num_rows: int, kv_tokens: int) -> float:
        """To bring the weights and so many tokens of KV to so many rows."""
        return self.step_s + num_rows * self.row_s + kv_tokens * self.kv_token_s

    def pass_s(self, stretches: Sequence[Stretch], kv_tokens: int) -> float:
        """One forward pass: what its prompts take to compute, but no less than a step of its rows
        takes to read."""
        prompts = sum(self.prefill_s(stretch) for stretch in stretches if stretch.num_tokens > 1)
        return max(prompts, self.decode_s(len(stretches), kv_tokens))


# Two CPU cores, float32: 400 tokens at 180 a second and 2,000 at 95, as `ondol bench warm` and
# `ondol bench shared` found.
STARTER = SimulatedModel(
    name="SmolLM2-135M on two CPU cores",
    bytes_per_token=46_080,
    prefill_token_s=4.31e-3,
    prefill_depth_s=6.21e-6,
    step_s=0.075,
    row_s=0.006,
    kv_token_s=5e-6,
    kv_budget_bytes=2 * GIB,
    prefill_chunk=256,
    step_target_s=0.6,
)

# 16 GB of weights at about 1.4 of 2.0 TB/s; 16 GFLOP a token at half of 312 TFLOP/s; 0.5 MFLOP for
# each pair of tokens in attention at a third of it.
A100_8B = SimulatedModel(
    name="8B on an A100",
    bytes_per_token=131_072,
    prefill_token_s=1e-4,
    prefill_depth_s=5e-9,
    step_s=0.012,
    row_s=5e-5,
    kv_token_s=8e-8,
    kv_budget_bytes=52 * GIB,
)

# 40 GB of 4-bit weights at 500 of 800 GB/s; about 120 tokens of a prompt a second; 2.6 MFLOP for
# each pair of tokens.
MAC_70B = SimulatedModel(
    name="70B on a large Mac",
    bytes_per_token=327_680,
    prefill_token_s=8.3e-3,
    prefill_depth_s=1.7e-7,
    step_s=0.08,
    row_s=0.005,
    kv_token_s=5.5e-7,
    kv_budget_bytes=46 * GIB,
)
