"""How long a hit can be when every kind of layer has conditions of its own."""

from __future__ import annotations

from engine.cache.convergence import at_states, converge, join_runs, over_window, state_hit


def test_the_minimum_of_separate_answers_would_be_wrong() -> None:
    """A state at 40 and a window whole at 50 and at 30: the least of the answers, 40, is none of
    the window's."""
    state = at_states([30, 40])
    window = over_window([(22, 32), (45, 60)], 5, 1)
    assert (state(50), window(50)) == (40, 50)
    assert window(40) == 32
    assert converge([state, window], 50) == 30


def test_it_ends_at_zero_if_nothing_agrees() -> None:
    assert converge([at_states([40]), over_window([(0, 20)], 5, 1)], 100) == 0


def test_nothing_asked_is_all_agreed() -> None:
    assert converge([], 17) == 17


def test_states() -> None:
    assert [state_hit([3, 8], n) for n in (2, 3, 7, 8, 100)] == [0, 3, 3, 8, 8]
    assert state_hit([], 5) == 0


def test_runs_that_touch_are_one() -> None:
    assert join_runs([(0, 4), (4, 9), (9, 9), (12, 15)]) == [(0, 9), (12, 15)]
