"""What a pass costs, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.bench.simulation.model import (
    A100_8B,
    MAC_70B,
    STARTER,
    SimulatedModel,
    Stretch,
)


def test_prefill_grows_with_depth(toy: SimulatedModel) -> None:
    deep = replace(toy, prefill_depth_s=0.001)
    assert toy.prefill_s(Stretch(500, 100)) == pytest.approx(1.0)
    # 100 tokens behind 500 attend to 550 in the mean: 100 * (0.01 + 0.55).
    assert deep.prefill_s(Stretch(500, 100)) == pytest.approx(56.0)


def test_a_step_pays_for_its_rows_and_its_kv(toy: SimulatedModel) -> None:
    assert toy.decode_s(3, 50) == pytest.approx(0.1 + 0.03 + 0.05)


@pytest.mark.parametrize(
    ("stretches", "kv_tokens", "seconds"),
    [
        ([Stretch(0, 100)], 0, 1.0),  # computing takes longer
        ([Stretch(0, 5)], 0, 0.11),  # reading the weights takes longer
        ([Stretch(40, 1), Stretch(60, 1)], 100, 0.22),  # decoding reads, whatever it computes
        ([Stretch(0, 30), Stretch(0, 20)], 0, 0.5),
    ],
)
def test_a_pass_computes_or_reads_whichever_is_longer(
    toy: SimulatedModel, stretches: list[Stretch], kv_tokens: int, seconds: float
) -> None:
    assert toy.pass_s(stretches, kv_tokens) == pytest.approx(seconds)


@pytest.mark.parametrize(("prompt_tokens", "tokens_per_s"), [(400, 180), (2_000, 95)])
def test_the_starter_model_computes_prompts_as_measured(
    prompt_tokens: int, tokens_per_s: float
) -> None:
    seconds = STARTER.prefill_s(Stretch(0, prompt_tokens))
    assert prompt_tokens / seconds == pytest.approx(tokens_per_s, rel=0.01)


def test_presets_have_the_bytes_of_their_models() -> None:
    """Layers × keys and values × heads × width × bytes of a value."""
    assert STARTER.bytes_per_token == 30 * 2 * 3 * 64 * 4
    assert A100_8B.bytes_per_token == 32 * 2 * 8 * 128 * 2
    assert MAC_70B.bytes_per_token == 80 * 2 * 8 * 128 * 2
