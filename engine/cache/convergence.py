"""How long a hit can be when every group of layers has its own conditions (algorithms §2.4)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

LongestHit = Callable[[int], int]  # longest hit of one group of layers, at most the given one

Run = tuple[int, int]  # tokens [start, end) whose KV is there


def converge(groups: Iterable[LongestHit], candidate: int) -> int:
    """The longest hit, at most `candidate` tokens, that every group can serve.

    One group's answer may be none of another's, so they are asked in turn until nobody objects: the
    least of their separate answers would not do.
    """
    groups = tuple(groups)
    while True:
        agreed = candidate
        for longest in groups:
            candidate = longest(candidate)
        if candidate == agreed:
            return agreed


def join_runs(runs: Iterable[Run]) -> list[Run]:
    """Ascending runs, those that touch joined into one."""
    joined: list[Run] = []
    for start, end in runs:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined


def over_window(runs: Sequence[Run], reach: int, unit: int) -> LongestHit:
    """The condition of a sliding window."""
    return lambda candidate: window_hit(runs, reach, unit, candidate)


def at_states(positions: Sequence[int]) -> LongestHit:
    """The condition of recurrent layers."""
    return lambda candidate: state_hit(positions, candidate)


def window_hit(runs: Sequence[Run], reach: int, unit: int, candidate: int) -> int:
    """Longest hit of a sliding window over joined ascending `runs`: the `reach` tokens before its
    end are there, or all tokens down to position 0. A multiple of `unit` (oracle C22-C31)."""
    if not reach:
        return candidate // unit * unit
    for start, end in reversed(runs):
        hit = min(candidate, end) // unit * unit
        if hit > start and (start == 0 or hit - start >= reach):
            return hit
    return 0


def state_hit(positions: Sequence[int], candidate: int) -> int:
    """Longest hit of recurrent layers: the last of the ascending `positions` whose state is
    kept."""
    at = bisect_right(positions, candidate)
    return positions[at - 1] if at else 0
