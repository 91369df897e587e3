"""Workloads of a house and of a data centre. The same seed gives the same requests."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

from app.bench.simulation.arrivals import Arrival, Client, Workload
from app.bench.simulation.runner import FIRST_TOKEN, NEXT_TOKEN, answer
from engine.request import Priority, Prompt, Request, SamplingParams

WORDS = range(1 + max(FIRST_TOKEN, NEXT_TOKEN), 50_000)  # what prompts are made of
_GREEDY = SamplingParams(temperature=0.0)

CONVERSATION, SWEEP = "conversation", "sweep"


@dataclass(frozen=True, slots=True)
class Turns:
    """A conversation: `count` questions of `question_tokens`, each answered with `answer_tokens`;
    the whole conversation so far stands before each."""

    count: int
    question_tokens: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat service: first prompts of `prompt_tokens`, of which a share is the same for all. Each
    client has some conversations, whose turns follow each other in turn, so that what one of them
    left has to last while the others are answered."""

    prompt_tokens: int = 2_048
    common_share: float = 0.8
    turns: Turns = Turns(4, 64, 128)
    conversations: int = 2
    start_within_s: float = 2.0


def words(chance: random.Random, count: int) -> tuple[int, ...]:
    """Random tokens of a prompt."""
    return tuple(chance.choices(WORDS, k=count))


def greedy(
    request_id: str,
    tokens: tuple[int, ...],
    max_tokens: int,
    *,
    client: str = "",
    priority: Priority = Priority.INTERACTIVE,
) -> Request:
    """A request whose answer is as long as it may be."""
    return Request(
        request_id, Prompt(tokens), max_tokens, _GREEDY, client=client, priority=priority
    )


def chat(plan: Chat, concurrency: int, seed: int = 1) -> Workload:
    """So many clients at a time, closed loop."""
    chance = random.Random(seed)
    num_common = round(plan.common_share * plan.prompt_tokens)
    system = words(chance, num_common)
    clients = []
    for number in range(concurrency):
        conversations = [
            _conversation(
                f"chat-{number}-{which}",
                (*system, *words(chance, plan.prompt_tokens - num_common)),
                plan.turns,
                random.Random(chance.random()),
            )
            for which in range(plan.conversations)
        ]
        requests = itertools.chain.from_iterable(zip(*conversations, strict=True))
        clients.append(Client(requests, chance.uniform(0, plan.start_within_s)))
    return Workload(clients=tuple(clients))


def burst(
    count: int, prompt_tokens: int, answer_tokens: int, *, distinct: bool = False, seed: int = 1
) -> Workload:
    """So many requests at once, with the same prompt or with prompts that have nothing in
    common."""
    chance = random.Random(seed)
    prompt = words(chance, prompt_tokens)
    return Workload(
        tuple(
            Arrival(
                0.0,
                greedy(
                    f"burst-{number}",
                    words(chance, prompt_tokens) if distinct else prompt,
                    answer_tokens,
                ),
            )
            for number in range(count)
        )
    )


def document(
    questions: int,
    document_tokens: int,
    question_tokens: int,
    answer_tokens: int,
    seed: int = 1,
) -> Workload:
    """One long document, and different questions about it at once."""
    chance = random.Random(seed)
    text = words(chance, document_tokens)
    return Workload(
        tuple(
            Arrival(
                0.0,
                greedy(f"question-{number}", text + words(chance, question_tokens), answer_tokens),
            )
            for number in range(questions)
        )
    )


def cyclic(
    num_prompts: int = 8,
    prompt_tokens: int = 975,
    cycles: int = 2,
    answer_tokens: int = 1,
    seed: int = 1,
) -> Workload:
    """One client goes through the same prompts again and again (S0-15)."""
    chance = random.Random(seed)
    prompts = [words(chance, prompt_tokens) for _ in range(num_prompts)]
    requests = (
        greedy(f"cycle-{cycle}-{number}", prompt, answer_tokens)
        for cycle in range(cycles)
        for number, prompt in enumerate(prompts)
    )
    return Workload(clients=(Client(requests),))


def sweep_beside_conversation(
    turns: Turns,
    *,
    opening_tokens: int,
    num_swept: int,
    swept_tokens: int,
    think_s: float,
    seed: int = 1,
) -> Workload:
    """A conversation whose client thinks between its turns, while another client goes through many
    prompts in the background."""
    chance = random.Random(seed)
    talk = _conversation(CONVERSATION, words(chance, opening_tokens), turns, chance)
    prompts = random.Random(chance.random())
    sweep = (
        greedy(
            f"{SWEEP}-{number}",
            words(prompts, swept_tokens),
            1,
            client=SWEEP,
            priority=Priority.BACKGROUND,
        )
        for number in range(num_swept)
    )
    return Workload(clients=(Client(talk, think_s=think_s), Client(sweep)))


def overlap(
    share: float,
    stagger_s: float,
    prompt_tokens: int = 1_000,
    answer_tokens: int = 32,
    seed: int = 1,
) -> Workload:
    """Two prompts that begin with a share of the same tokens; the second comes a little later."""
    chance = random.Random(seed)
    num_shared = round(share * prompt_tokens)
    shared = words(chance, num_shared)
    return Workload(
        tuple(
            Arrival(
                at_s,
                greedy(name, shared + words(chance, prompt_tokens - num_shared), answer_tokens),
            )
            for name, at_s in (("first", 0.0), ("second", stagger_s))
        )
    )


def _conversation(
    name: str, opening: tuple[int, ...], turns: Turns, chance: random.Random
) -> Iterator[Request]:
    tokens = opening
    for number in range(turns.count):
        tokens += words(chance, turns.question_tokens)
        yield greedy(f"{name}-{number}", tokens, turns.answer_tokens, client=name)
        tokens += answer(turns.answer_tokens)
