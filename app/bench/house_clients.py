"""The clients of a household: each goes from errand to errand and asks again as soon as it has its
answer and a moment to think."""

from __future__ import annotations

import random
import time
from threading import Event

from app.bench.client import Client
from app.bench.errors import EmptyAnswer
from app.bench.house import Turn
from app.bench.house_errands import ERRANDS

THINK_S = 0.2
TURNS_A_VISIT = 4

# What a conversation goes on from where the model had no word.
_NO_WORD = "I do not know."


class Inhabitant:
    """One client, from the first question of a segment to its last. Equal numbers with an equal
    salt ask the same."""

    def __init__(self, number: int, client: Client, salt: str) -> None:
        self._number = number
        self._client = client
        self._salt = salt
        chance = random.Random(f"{salt} {number}")
        # Each begins with another errand, so that all of them are there at any time.
        first = number % len(ERRANDS)
        self._errands = [make(chance) for make in (*ERRANDS[first:], *ERRANDS[:first])]

    def live(self, until: float, stopped: Event) -> list[Turn]:
        """Ask at least once, and no more from `until` on (`time.perf_counter()`) or once somebody
        has `stopped` all. A question that the model has no word for has no first token, and is left
        out. Raises BenchError."""
        turns: list[Turn] = []
        number = 0
        while not stopped.is_set() and (not number or time.perf_counter() < until):
            turn = self._ask(number)
            if turn is not None:
                turns.append(turn)
            number += 1
            stopped.wait(THINK_S)
        return turns

    def _ask(self, number: int) -> Turn | None:
        errand = self._errands[number // TURNS_A_VISIT % len(self._errands)]
        question = errand.ask()
        try:
            answer = self._client.ask(
                question.messages,
                max_tokens=question.max_tokens,
                salt=self._salt,
                tools=question.tools,
                name=f"house-{self._number}",
            )
        except EmptyAnswer:
            errand.hear(_NO_WORD)
            return None
        errand.hear(answer.text)
        return Turn(
            self._number,
            number,
            errand.name,
            answer.prompt_tokens,
            answer.cached_tokens,
            answer.ttft_s,
        )
