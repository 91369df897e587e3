"""Requests of a chat service with several assistants. The same seed gives the same requests."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench.simulation.workloads import greedy
from engine.request import Request

_WARM_TURNS = 3  # from then on a prefix has been hit twice, and counts as hot


@dataclass(frozen=True, slots=True)
class Traffic:
    """Each request asks one of `assistants`, whose system prompt is a share of its
    `prompt_tokens`, and brings the rest itself; a share of the requests has nothing in common with
    any other. Answers have `answer_tokens`, from the one to the other.

    No running request holds all of the system prompts, so that those which nobody asks at a moment
    stay warm only where there is room for them.
    """

    assistants: int
    prompt_tokens: int
    answer_tokens: tuple[int, int]
    common_share: float = 0.8
    one_off_share: float = 0.0

    @property
    def system_tokens(self) -> int:
        return round(self.common_share * self.prompt_tokens)

    @property
    def longest_tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens[1]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Traffic:
        return Traffic(**{**data, "answer_tokens": tuple(data["answer_tokens"])})


class Requests:
    """The requests of a traffic. Prompts are random words of a vocabulary."""

    def __init__(self, traffic: Traffic, vocabulary: Sequence[int], seed: int = 1) -> None:
        self._traffic = traffic
        self._vocabulary = vocabulary
        self._chance = random.Random(seed)
        self._numbers = itertools.count(1)
        self._systems = [self._words(traffic.system_tokens) for _ in range(traffic.assistants)]

    def warm_up(self) -> Iterator[Request]:
        """Prompts that make every assistant hot, and get no answers."""
        for system in self._systems:
            for _ in range(_WARM_TURNS):
                yield self._request(system, 0)

    def mixed(self, count: int) -> Iterator[Request]:
        """So many, for assistants by chance."""
        share = self._traffic.one_off_share
        for number in range(count):
            one_off = int(share * (number + 1)) > int(share * number)  # evenly among the others
            system = () if one_off else self._chance.choice(self._systems)
            answer_tokens = self._chance.randint(*self._traffic.answer_tokens)
            yield self._request(system, answer_tokens)

    def _request(self, system: tuple[int, ...], max_tokens: int) -> Request:
        prompt = system + self._words(self._traffic.prompt_tokens - len(system))
        name = f"batch-{next(self._numbers)}"
        return greedy(name, prompt, max_tokens, client=name)

    def _words(self, count: int) -> tuple[int, ...]:
        return tuple(self._chance.choices(self._vocabulary, k=count))
