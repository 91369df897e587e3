"""`ondol bench gui`: what the window costs the engine, and the engine the window.

The same requests go to a real `ondol serve` and to the real app, whose dashboard is visible in one
phase and hidden in another. One of them works at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.bench.client import Client
from app.bench.load import LoadResult, run_load
from app.bench.stats import Estimate, estimate
from app.bench.workload import Chat

CLIENTS = 8
PROMPT_WORDS = 120
MAX_TOKENS = 32

SERVE, VISIBLE, HIDDEN, IDLE = "serve", "visible", "hidden", "idle"
PHASES = (SERVE, VISIBLE, HIDDEN)

# The first frames after a change of what is seen are not what this measures.
_SETTLE_S = 0.5
_IDLE_S = 5.0


class App(Protocol):
    """The app under measurement, told what to do from outside."""

    def show(self) -> None: ...

    def hide(self) -> None: ...

    def mark(self, section: str) -> None:
        """What the probe sees from now on belongs to this section."""


@dataclass(frozen=True, slots=True)
class Section:
    """What the probe saw of the main thread, seconds throughout: a timer that should fire every
    10 ms fired with these gaps; `cpu_share` is of one core."""

    seconds: float
    num_gaps: int
    gap_p50_s: float
    gap_p99_s: float
    gap_max_s: float
    cpu_share: float


@dataclass(frozen=True, slots=True)
class GuiResults:
    """A whole run. `rounds` has for each phase one result a round; `first_paint_s` counts from the
    start of the process."""

    rounds: tuple[Mapping[str, LoadResult], ...]
    sections: Mapping[str, Section]
    first_paint_s: float

    def throughput(self, phase: str) -> Estimate:
        """Tokens per second."""
        return estimate([one[phase].tokens_per_second for one in self.rounds])

    def relative(self, phase: str) -> Estimate:
        """Throughput as a share of what `ondol serve` did in the same round."""
        return estimate(
            [one[phase].tokens_per_second / one[SERVE].tokens_per_second for one in self.rounds]
        )


class GuiBench:
    """Asks the server and the app in turn. `say` gets a line of progress after each round."""

    def __init__(
        self,
        serve: Client,
        window: Client,
        app: App,
        chats: Sequence[Chat],
        say: Callable[[str], None],
    ) -> None:
        self._clients = {SERVE: serve, VISIBLE: window, HIDDEN: window}
        self._app = app
        self._chats = chats
        self._say = say
        self._num_loads = 0

    def run(self, rounds: int) -> tuple[Mapping[str, LoadResult], ...]:
        """Raises BenchError when a side fails."""
        self._app.mark("start")
        for client in dict.fromkeys(self._clients.values()):
            self._load(client)
        self._watch_idle()
        found = []
        for number in range(rounds):
            shift = number % len(PHASES)
            order = PHASES[shift:] + PHASES[:shift]
            results = {phase: self._phase(phase) for phase in order}
            found.append(results)
            told = ", ".join(f"{phase} {results[phase].tokens_per_second:.1f}" for phase in PHASES)
            self._say(f"round {number + 1} of {rounds}, tokens per second: {told}")
        return tuple(found)

    def _watch_idle(self) -> None:
        """The window open while nobody asks."""
        self._app.show()
        time.sleep(_SETTLE_S)
        self._app.mark(IDLE)
        time.sleep(_IDLE_S)
        self._app.mark("between")

    def _phase(self, phase: str) -> LoadResult:
        if phase == VISIBLE:
            self._app.show()
        else:
            self._app.hide()
        time.sleep(_SETTLE_S)
        if phase != SERVE:
            self._app.mark(phase)
        result = self._load(self._clients[phase])
        self._app.mark("between")
        return result

    def _load(self, client: Client) -> LoadResult:
        # A salt of its own keeps every load as cold as the first.
        self._num_loads += 1
        return run_load(client, self._chats, MAX_TOKENS, f"load-{self._num_loads}")
