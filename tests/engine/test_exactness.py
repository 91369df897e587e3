"""The gate: whatever a request finds in the cache, it gets the logits of a run without one.

Real forward passes of many architectures with random weights, through the engine's own loop. Equal
tokens alone would not do: a wrong recurrent state moved logits by 0.023 and kept the same tokens
(design D8).
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.model.info import AttentionMode
from engine.request import Segment
from tests.support.gate import Gate, check
from tests.support.tiny_models import VOCABULARY

DENSE = ["llama", "qwen3", "mixtral", "deepseek_v2", "gemma2"]
SLIDING = ["llama_sliding", "gemma3_text", "gpt_oss"]
RECURRENT = [
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_moe",
    "mamba2",
    "lfm2",
    "jamba",
    "falcon_h1",
    "recurrent_gemma",
]
ALL = [*DENSE, *SLIDING, *RECURRENT]

TEXT = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(600)]
OTHER = [(11 * n * n + n + 9) % VOCABULARY for n in range(600)]


def serve(
    gate: Gate, name: str, tokens: Sequence[int], num_answer: int = 6, system: int = 0
) -> int:
    """Run and check a request. Returns how many tokens it found."""
    segments = (
        [Segment("system", 0, system), Segment("messages", system, len(tokens))] if system else []
    )
    _, cached = gate.run(name, tokens, num_answer, segments)
    check(gate, name, tokens)
    return cached


@pytest.mark.parametrize("name", ALL)
def test_rows_are_taken(name: str) -> None:
    gate = Gate(name)
    expected = AttentionMode.COPIES if name == "gemma2" else AttentionMode.SHARED
    assert gate.runner.info.attention is expected
    assert gate.cache.cost.recurrent == (name in RECURRENT)
    assert bool(gate.cache.cost.windows) == (name in SLIDING or name == "recurrent_gemma")


@pytest.mark.parametrize("name", ALL)
def test_populated_cached_and_partly_cached(name: str) -> None:
    gate = Gate(name)
    assert serve(gate, "populate", TEXT[:150]) == 0
    assert serve(gate, "again", TEXT[:150]) == 149
    # To the next turn: everything but the last token of the answer, which was never computed.
    turn = [*TEXT[:150], *gate.answer("again"), *OTHER[:40]]
    assert serve(gate, "next turn", turn) == 155
    assert serve(gate, "branch", [*TEXT[:149], *OTHER[:90]]) == 149
    assert serve(gate, "again, later", TEXT[:150]) == 149


@pytest.mark.parametrize("name", ALL)
def test_a_branch_is_found_at_its_second_sighting(name: str) -> None:
    """Two prompts part at 100. Models that need checkpoints leave one there when the second comes
    by, and the third finds it (oracle D2)."""
    gate = Gate(name)
    serve(gate, "first", [*TEXT[:100], *OTHER[:80]])
    second = serve(gate, "second", [*TEXT[:100], *OTHER[100:180]])
    assert second == 100 if name in [*DENSE, *SLIDING] else second == 0
    assert serve(gate, "third", [*TEXT[:100], *OTHER[200:280]]) == 100


@pytest.mark.parametrize("name", ALL)
def test_the_end_of_the_system_segment_is_found_at_once(name: str) -> None:
    gate = Gate(name)
    serve(gate, "first", [*TEXT[:120], *OTHER[:60]], system=120)
    assert serve(gate, "second", [*TEXT[:120], *OTHER[100:160]], system=120) >= 120


@pytest.mark.parametrize("name", ALL)
def test_evicted_and_rebuilt(name: str) -> None:
    gate = Gate(name)
    serve(gate, "first", TEXT[:200])
    found = []
    for share in (4, 2, 1.2):
        used = gate.cache.used_bytes
        given = gate.cache.reclaim(int(used / share))
        gate.cache.check_integrity()
        assert given.num_bytes == used - gate.cache.used_bytes >= int(used / share)
        found.append(serve(gate, f"after a cut to 1 - 1/{share}", TEXT[:200]))
    assert min(found) < 199
    assert gate.cache.clear()
    assert gate.cache.used_bytes == gate.cache.num_checkpoints == 0
    assert serve(gate, "rebuilt", TEXT[:200]) == 0
    assert serve(gate, "found again", TEXT[:200]) == 199


@pytest.mark.parametrize("name", ALL)
def test_cancelled_and_retried(name: str) -> None:
    """What a cancelled request computed is not lost, whatever kind of state it is (oracle J11)."""
    gate = Gate(name)
    gate.submit("cancelled", TEXT[:300], 4)
    for _ in range(3):
        gate.step()
    gate.cancel("cancelled")
    assert serve(gate, "retried", TEXT[:300]) == 3 * 64
    gate.submit("cancelled in its answer", OTHER[:80], 30)
    for _ in range(12):
        gate.step()
    gate.cancel("cancelled in its answer")
    said = gate.answer("cancelled in its answer")
    assert len(said) >= 8
    assert serve(gate, "going on", [*OTHER[:80], *said, 3]) == 80 + len(said) - 1


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("lost", [False, True])
def test_preempted_and_resumed(name: str, lost: bool) -> None:
    """Two answer, one makes way in the middle and goes on later: from what it had, or from nothing
    where that was evicted meanwhile."""
    gate = Gate(name)
    prompts = {"stays": TEXT[:40], "goes": OTHER[:70]}
    for key, prompt in prompts.items():
        gate.submit(key, prompt, 14)
    for _ in range(6):
        gate.step()
    victim = gate.scheduler.make_way(0.0)
    assert victim is not None
    assert 0 < victim.num_generated < 14
    if lost:
        gate.cache.reclaim(gate.cache.used_bytes)
    gate.finish()
    for key, prompt in prompts.items():
        assert len(gate.answer(key)) == 14
        check(gate, key, prompt)


@pytest.mark.parametrize("name", ALL)
def test_rows_of_one_batch_do_not_disturb_each_other(name: str) -> None:
    """Different histories, lengths and states decode together; one leaves in the middle."""
    gate = Gate(name)
    serve(gate, "before", TEXT[:90])
    prompts = {
        "same": TEXT[:90],
        "longer": [*TEXT[:90], *OTHER[:33]],
        "branch": [*TEXT[:70], *OTHER[40:60]],
        "cold": OTHER[300:430],
        "leaves": OTHER[:50],
    }
    for each, tokens in prompts.items():
        gate.submit(each, tokens, 40)
    for _ in range(25):
        gate.step()
    gate.cancel("leaves")
    gate.finish()
    for each, tokens in prompts.items():
        check(gate, each, tokens)


@pytest.mark.parametrize("name", [*SLIDING, *RECURRENT])
def test_long_answers_wrap_the_window_and_go_on_from_their_end(name: str) -> None:
    """Answers several windows long, before and after the ring would wrap."""
    gate = Gate(name)
    serve(gate, "short", TEXT[:10], num_answer=70)
    turn = [*TEXT[:10], *gate.answer("short"), *OTHER[:5]]
    assert serve(gate, "goes on", turn, num_answer=70) == 79
    assert serve(gate, "goes on again", turn, num_answer=3) >= 79


@pytest.mark.parametrize("name", [*SLIDING, *RECURRENT])
def test_little_memory_changes_nothing(name: str) -> None:
    """A budget in which nearly everything has to be given up again and again."""
    probe = Gate(name)
    need = probe.cache.cost.append_bytes(700)
    gate = Gate(name, budget=2 * need, checkpoint_share=0.2)
    for turn in range(8):
        tokens = [*TEXT[: 40 + 20 * (turn % 3)], *OTHER[turn * 30 : turn * 30 + 60]]
        serve(gate, f"turn {turn}", tokens, system=40 if turn % 2 else 0)
        assert gate.cache.checkpoint_bytes <= 0.2 * 2 * need
    assert gate.cache.clear()
    assert gate.cache.used_bytes == 0


@pytest.mark.parametrize("name", ["llama", "gemma3_text", "qwen3_next"])
def test_only_what_a_prompt_computed_serves_again_if_so_set(name: str) -> None:
    gate = Gate(name, prefilled_only=True)
    serve(gate, "first", TEXT[:100], num_answer=20)
    turn = [*TEXT[:100], *gate.answer("first"), *OTHER[:30]]
    # A state at 100 was never kept: the prompt's last checkpoint lies before its last token.
    assert serve(gate, "next turn", turn) == (99 if name == "qwen3_next" else 100)
    assert serve(gate, "again", turn) == len(turn) - 1
