"""`ondol bench warm`: the measuring itself.

One side computes at a time; the other waits for its turn, its threads asleep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.bench.client import Answer, Client
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.plain import PlainProcess
from app.bench.quiet import settle
from app.bench.warm_results import Round, SizeResult, Warm
from app.bench.workload import Chat, Workload

MAX_TOKENS = 3

_WARM_UP_TOKENS = 100
_MAX_EMPTY_ANSWERS = 5


@dataclass(frozen=True, slots=True)
class Scheme:
    """What to measure: prompts of these sizes in tokens, each `rounds` times with a new one, and
    in a round `repeats` warm requests of each kind."""

    sizes: tuple[int, ...]
    rounds: int
    repeats: int


class WarmBench:
    """Asks the server and plain mlx-lm in turn. `say` gets a line of progress after each round."""

    def __init__(self, client: Client, plain: PlainProcess, say: Callable[[str], None]) -> None:
        self._client = client
        self._plain = plain
        self._say = say
        self._workload = Workload(plain.encode)
        self._num_chats = 0

    def run(self, scheme: Scheme) -> tuple[SizeResult, ...]:
        """Raises BenchError when a side fails."""
        self._measure(_WARM_UP_TOKENS, repeats=1, ours_first=True)
        rounds: dict[int, list[Round]] = {size: [] for size in scheme.sizes}
        for number in range(scheme.rounds):
            for size in scheme.sizes:
                one = self._measure(size, scheme.repeats, ours_first=number % 2 == 0)
                rounds[size].append(one)
                self._say(f"round {number + 1} of {scheme.rounds}, {_told(one)}")
        return tuple(SizeResult(size, tuple(found)) for size, found in rounds.items())

    def _measure(self, size: int, repeats: int, ours_first: bool) -> Round:
        """One round on a new prompt; on another one if the model has no word for it."""
        for _ in range(_MAX_EMPTY_ANSWERS):
            try:
                return self._round(self._workload.chat(size), repeats, ours_first)
            except EmptyAnswer:
                continue
        raise BenchError(
            f"The model answered {_MAX_EMPTY_ANSWERS} prompts of {size} tokens without a word, "
            "so there is no first token to time."
        )

    def _round(self, chat: Chat, repeats: int, ours_first: bool) -> Round:
        self._num_chats += 1
        # A salt of its own makes a cold prompt cold in the template's first tokens too.
        salt = f"chat-{self._num_chats}"
        tokens = self._plain.encode(chat.messages)
        if ours_first:
            cold, plain_s = self._ask(chat, tokens, salt), self._cold(tokens)
        else:
            plain_s, cold = self._cold(tokens), self._ask(chat, tokens, salt)
        return Round(
            prompt_tokens=cold.prompt_tokens,
            cold_cached_tokens=cold.cached_tokens,
            cold_s=cold.ttft_s,
            plain_s=plain_s,
            same=tuple(self._warm(chat, salt) for _ in range(repeats)),
            another=tuple(
                self._warm(self._workload.another_question(chat), salt) for _ in range(repeats)
            ),
        )

    def _warm(self, chat: Chat, salt: str) -> Warm:
        tokens = self._plain.encode(chat.messages)
        answer = self._ask(chat, tokens, salt)
        cached = answer.cached_tokens
        self._plain.place(tokens[:cached], tokens[cached:])
        settle()
        limit_s = self._plain.extend(tokens[cached:])
        return Warm(answer.prompt_tokens, cached, answer.ttft_s, limit_s)

    def _ask(self, chat: Chat, tokens: list[int], salt: str) -> Answer:
        settle()
        answer = self._client.ask(chat.messages, max_tokens=MAX_TOKENS, salt=salt)
        if answer.prompt_tokens != len(tokens):
            raise BenchError(
                f"`ondol serve` made {answer.prompt_tokens} tokens of a prompt, plain mlx-lm "
                f"{len(tokens)}: their times cannot be compared."
            )
        return answer

    def _cold(self, tokens: list[int]) -> float:
        settle()
        return self._plain.cold(tokens)


def _told(one: Round) -> str:
    return (
        f"{one.prompt_tokens:,} tokens: cold {one.cold_s:.2f} s, plain mlx-lm {one.plain_s:.2f} s, "
        f"warm {1000 * one.same[0].ttft_s:.0f} ms, "
        f"next question {1000 * one.another[0].ttft_s:.0f} ms"
    )
