"""An inbox whose commands come at their time of the virtual clock."""

from __future__ import annotations

import heapq
import itertools
import queue
from collections.abc import Callable

from app.bench.simulation.clock import VirtualClock
from engine.commands import Command, Stop


class Timetable(queue.SimpleQueue[Command]):
    """What a loop finds in its inbox. A loop with nothing to do waits in no time until the next
    command is due; when there is none, it is told to stop.

    `before_step` is called each time that the loop has taken all that was due.
    """

    def __init__(self, clock: VirtualClock, before_step: Callable[[], None]) -> None:
        super().__init__()
        self._clock = clock
        self._before_step = before_step
        self._commands: list[tuple[float, int, Command]] = []
        self._numbers = itertools.count()

    def add(self, at: float, command: Command) -> None:
        """A command that comes at a time; at once if that is past."""
        heapq.heappush(self._commands, (at, next(self._numbers), command))

    def get(self, block: bool = True, timeout: float | None = None) -> Command:
        until = None if timeout is None else self._clock() + timeout
        if self._commands and (until is None or self._commands[0][0] <= until):
            at, _, command = heapq.heappop(self._commands)
            self._clock.jump(at)
            return command
        if until is None:
            return Stop()
        self._clock.jump(until)
        raise queue.Empty

    def get_nowait(self) -> Command:
        if self.empty():
            self._before_step()
            raise queue.Empty
        return self.get()

    def empty(self) -> bool:
        return not self._commands or self._commands[0][0] > self._clock()
