"""A model whose forward pass fails: that request ends with an error, nothing of the failed step is
found again, and everybody else goes on."""

from __future__ import annotations

import pytest

from engine.errors import StepFailed
from engine.model.kv import Mark, PartStorage
from engine.request import Failed
from tests.support.failing import Failing
from tests.support.gate import Gate, check
from tests.support.tiny_models import VOCABULARY

NAMES = ["llama", "gemma3_text", "qwen3_next"]
TEXT = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(300)]
OTHER = [(11 * n * n + n + 9) % VOCABULARY for n in range(300)]


def failed(gate: Gate, name: str) -> Failed:
    (end,) = [event for event in gate.events[name] if isinstance(event, Failed)]
    assert gate.events[name][-1] is end
    return end


@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_that_fails_costs_its_request_and_nothing_before_it(name: str) -> None:
    gate = Gate(name)
    failing = Failing(gate)
    gate.submit("broken", TEXT[:200], 4)
    gate.submit("other", OTHER[:50], 4)
    gate.step()
    gate.step()
    failing.fails = lambda rows, tokens: tokens == 64
    while not any(isinstance(event, Failed) for event in gate.events["broken"]):
        gate.step()
    failing.fails = lambda rows, tokens: False
    gate.finish()
    error = failed(gate, "broken").error
    assert isinstance(error, StepFailed)
    assert str(error) == "The model could not compute this request (RuntimeError)."
    assert error.__traceback__ is error.__context__ is error.__cause__ is None
    check(gate, "other", OTHER[:50])
    answer, cached = gate.run("again", TEXT[:200], 4)
    assert cached == 64, "the chunk before the failed one, and nothing of that"
    check(gate, "again", TEXT[:200])
    assert len(answer) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_that_fails_is_tried_one_by_one(name: str) -> None:
    """The pass of three rows fails; each alone does well: nobody notices."""
    gate = Gate(name)
    failing = Failing(gate)
    prompts = {"a": TEXT[:40], "b": TEXT[:30] + OTHER[:9], "c": OTHER[:60]}
    for each, tokens in prompts.items():
        gate.submit(each, tokens, 12)
    while any(len(gate.answer(each)) < 3 for each in prompts):
        gate.step()
    failing.fails = lambda rows, tokens: rows > 1
    gate.step()
    failing.fails = lambda rows, tokens: False
    gate.finish()
    for each, tokens in prompts.items():
        assert len(gate.answer(each)) == 12
        check(gate, each, tokens)


@pytest.mark.parametrize("name", NAMES)
def test_a_tail_that_is_lost_with_the_step_is_found_by_nobody(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(name)
    gate.run("before", TEXT[:70], 2)
    failing = Failing(gate)
    gate.submit("lost", TEXT[:260], 4)
    gate.step()
    gate.step()

    def gone(storage: PartStorage, mark: Mark) -> None:
        raise RuntimeError("the device has lost its arrays")

    with monkeypatch.context() as patch:
        patch.setattr(PartStorage, "go_back", gone)
        failing.fails = lambda rows, tokens: True
        gate.step()
    failing.fails = lambda rows, tokens: False
    assert isinstance(failed(gate, "lost").error, StepFailed)
    gate.cache.check_integrity()
    assert not gate.scheduler.jobs
    _, cached = gate.run("again", TEXT[:260], 4)
    # What another request had computed, where it can be taken up, and nothing of the lost tail.
    assert cached == (69 if name == "qwen3_next" else 70)
    check(gate, "again", TEXT[:260])
