"""Commands come when they are due, and an idle loop waits in no time."""

from __future__ import annotations

import queue

import pytest

from app.bench.simulation.clock import VirtualClock
from app.bench.simulation.timetable import Timetable
from engine.commands import Cancel, Stop


@pytest.fixture
def clock() -> VirtualClock:
    clock = VirtualClock()
    clock.jump(10.0)
    return clock


def test_only_what_is_due_is_found(clock: VirtualClock) -> None:
    steps: list[float] = []
    inbox = Timetable(clock, lambda: steps.append(clock()))
    inbox.add(10.5, Cancel("later"))
    inbox.add(9.0, Cancel("late"))
    inbox.add(10.0, Cancel("now"))
    assert [inbox.get_nowait(), inbox.get_nowait()] == [Cancel("late"), Cancel("now")]
    assert inbox.empty()
    assert steps == []
    with pytest.raises(queue.Empty):
        inbox.get_nowait()
    assert steps == [10.0], "a step begins when all that was due is taken"
    clock.advance(0.5)
    assert not inbox.empty()
    assert inbox.get_nowait() == Cancel("later")


def test_an_idle_loop_jumps_to_the_next_command_and_stops_after_the_last(
    clock: VirtualClock,
) -> None:
    inbox = Timetable(clock, lambda: None)
    inbox.add(12.0, Cancel("b"))
    inbox.add(11.0, Cancel("a"))
    assert (inbox.get(), clock()) == (Cancel("a"), 11.0)
    assert (inbox.get(), clock()) == (Cancel("b"), 12.0)
    assert (inbox.get(), clock()) == (Stop(), 12.0)


def test_commands_of_one_moment_keep_their_order(clock: VirtualClock) -> None:
    inbox = Timetable(clock, lambda: None)
    commands = [Cancel(str(number)) for number in range(5)]
    for command in commands:
        inbox.add(10.0, command)
    assert [inbox.get() for _ in commands] == commands


def test_waiting_has_an_end_if_it_is_told(clock: VirtualClock) -> None:
    inbox = Timetable(clock, lambda: None)
    inbox.add(13.0, Cancel("a"))
    with pytest.raises(queue.Empty):
        inbox.get(timeout=2.0)
    assert clock() == 12.0
    assert (inbox.get(timeout=2.0), clock()) == (Cancel("a"), 13.0)
    with pytest.raises(queue.Empty):
        inbox.get(timeout=1.0)
    assert clock() == 14.0, "there is still somebody whose time is up then"
