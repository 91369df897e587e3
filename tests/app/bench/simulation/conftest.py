"""A model with round prices, and requests for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.bench.simulation.model import SimulatedModel
from engine.request import Prompt, Request

Ask = Callable[..., Request]


@pytest.fixture
def toy() -> SimulatedModel:
    """10 ms for a token of a prompt; for a step 100 ms, 10 ms a row and 1 ms a token of KV. Room
    for 100,000 tokens."""
    return SimulatedModel(
        name="toy",
        bytes_per_token=10,
        prefill_token_s=0.01,
        prefill_depth_s=0.0,
        step_s=0.1,
        row_s=0.01,
        kv_token_s=0.001,
        kv_budget_bytes=1_000_000,
        prefill_chunk=256,
        step_target_s=1.0,
    )


@pytest.fixture
def ask() -> Ask:
    """A request for tokens that begin with `first` and count up from there."""

    def ask(
        request_id: str, num_tokens: int, max_tokens: int, *, first: int = 100, **more: object
    ) -> Request:
        tokens = tuple(range(first, first + num_tokens))
        return Request(request_id, Prompt(tokens), max_tokens, **more)  # type: ignore[arg-type]

    return ask
