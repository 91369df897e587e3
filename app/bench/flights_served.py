"""`ondol bench flights --against mlx-lm`: the same bursts over HTTP, by `ondol serve` and by
`mlx_lm.server` in turn. One of them computes at a time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from app.bench.client import Answer, Messages
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.flights import Kind, Measured, Served, Server
from app.bench.quiet import settle
from app.bench.workload import Chat, Encode, Workload

_WARM_UP_TOKENS = 64
_MAX_EMPTY_ANSWERS = 5


@dataclass(frozen=True, slots=True)
class ServedCase:
    """`requests` at once, of about `prompt_tokens` each: identical, or a question each about the
    same document."""

    kind: Kind
    requests: int
    prompt_tokens: int
    answer_tokens: int


class Asked(Protocol):
    """A server as `app.bench.client.Client` knows it."""

    def ask(self, messages: Messages, *, max_tokens: int, salt: str) -> Answer: ...


class ServedBench:
    """Asks both servers. `encode` gives a chat's prompt; `say` gets lines of progress."""

    def __init__(
        self, clients: Mapping[Server, Asked], encode: Encode, say: Callable[[str], None]
    ) -> None:
        self._clients = clients
        self._workload = Workload(encode)
        self._say = say
        self._num_bursts = 0

    def run(self, cases: Sequence[ServedCase], rounds: int) -> tuple[Served, ...]:
        """Raises BenchError when a side fails."""
        for client in self._clients.values():
            self._warm_up(client)
        found = []
        for number in range(rounds):
            for case in cases:
                served = self._measure(case, turned=number % 2 == 1)
                found.append(served)
                self._say(f"round {number + 1} of {rounds}, {_told(served)}")
        return tuple(found)

    def _warm_up(self, client: Asked) -> None:
        chat = self._workload.chat(_WARM_UP_TOKENS)
        with contextlib.suppress(EmptyAnswer):  # it has computed all the same
            client.ask(chat.messages, max_tokens=2, salt="warm-up")

    def _measure(self, case: ServedCase, *, turned: bool) -> Served:
        """One case on new prompts; on others if the model has no word for one of them."""
        servers = list(Server)[::-1] if turned else list(Server)
        for _ in range(_MAX_EMPTY_ANSWERS):
            chat = self._workload.chat(case.prompt_tokens)
            chats = [chat] * case.requests
            if case.kind is Kind.DOCUMENT:
                others = range(case.requests - 1)
                chats = [chat, *(self._workload.another_question(chat) for _ in others)]
            self._num_bursts += 1
            try:
                measured = {
                    server: self._burst(server, chats, case.answer_tokens) for server in servers
                }
            except EmptyAnswer:
                continue
            _check_prompts(measured)
            return Served(case.kind, measured)
        raise BenchError(
            f"The model answered {_MAX_EMPTY_ANSWERS} prompts of {case.prompt_tokens} tokens "
            "without a word, so there is no first token to time."
        )

    def _burst(self, server: Server, chats: Sequence[Chat], answer_tokens: int) -> Measured:
        client = self._clients[server]
        # A salt of its own makes a cold prompt cold in the template's first tokens too.
        salt = f"burst-{self._num_bursts}"

        def ask(chat: Chat) -> tuple[Answer, float]:
            began = time.perf_counter()
            answer = client.ask(chat.messages, max_tokens=answer_tokens, salt=salt)
            return answer, time.perf_counter() - began

        settle()
        with ThreadPoolExecutor(len(chats)) as people:
            found = list(people.map(ask, chats))
        answers = [answer for answer, _ in found]
        return Measured(
            tuple(answer.prompt_tokens for answer in answers),
            ttft_s=tuple(answer.ttft_s for answer in answers),
            total_s=tuple(total_s for _, total_s in found),
            restored_tokens=tuple(answer.cached_tokens for answer in answers),
        )


def _check_prompts(measured: Mapping[Server, Measured]) -> None:
    ours, theirs = measured[Server.ONDOL].prompt_tokens, measured[Server.MLX_LM].prompt_tokens
    if ours != theirs:
        raise BenchError(
            f"`{Server.ONDOL}` made {ours[0]} tokens of a prompt, `{Server.MLX_LM}` {theirs[0]}: "
            "their times cannot be compared."
        )


def _told(served: Served) -> str:
    times = ", ".join(
        f"{server} {measured.mean_ttft_s:.2f} s" for server, measured in served.measured.items()
    )
    requests = len(next(iter(served.measured.values())).ttft_s)
    return f"{served.kind} x {requests} over HTTP: first tokens after {times}"
