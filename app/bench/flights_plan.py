"""The cases of `ondol bench flights`: all of them, and those of a quick run."""

from __future__ import annotations

from app.bench.flights import Case, Kind, Plan, Side
from app.bench.flights_served import ServedCase

PROMPT_TOKENS, SOURCE_ANSWER_TOKENS = 532, 128  # the article's (S0-8)
LATE_PROMPT_TOKENS = 493  # the article's (S0-4)
DOCUMENT_TOKENS, QUESTION_TOKENS = 1_008, 20
ANSWER_TOKENS, QUICK_LATE_ANSWER_TOKENS = 16, 64
BURSTS, QUICK_BURSTS = (1, 8, 2, 4), (1, 8, 2)
LATE, QUICK_LATE = (2, 4, 8), (2,)
DISTINCT, QUICK_DISTINCT = 4, 2
OVERLAPS = (25, 50, 75, 95)  # percent
STAGGERS_S = (0.0, 0.5, 1.0, 2.0)
QUICK_OVERLAPS = ((50, 0.5), (95, 0.0))
MANY = 8

ROUNDS, QUICK_ROUNDS = 5, 1

_WAIT_SIDES = (Side.ONDOL, Side.WAIT, Side.COMPUTE)
_SOURCE_SIDES = (
    Side.ON_COMPLETION,
    Side.ON_PREFILL,
    Side.INDEPENDENT,
    Side.LEADER_FINISHED,
    Side.PREFILL_FINISHED,
    Side.ONDOL,
)


def full(rounds: int = ROUNDS) -> Plan:
    return Plan(
        (
            *(_burst(number, compared=number > 1) for number in BURSTS),
            _document(1),
            _document(MANY, compared=True),
            Case(
                Kind.SOURCE,
                MANY,
                PROMPT_TOKENS,
                PROMPT_TOKENS,
                SOURCE_ANSWER_TOKENS,
                _SOURCE_SIDES,
            ),
            *(_late(number, SOURCE_ANSWER_TOKENS) for number in LATE),
            _distinct(DISTINCT),
            *(_overlap(2, percent, stagger) for percent in OVERLAPS for stagger in STAGGERS_S),
            *(_overlap(MANY, percent, 0.0) for percent in OVERLAPS),
        ),
        rounds,
    )


def quick() -> Plan:
    return Plan(
        (
            *(_burst(number, compared=number == 2) for number in QUICK_BURSTS),
            _document(1),
            _document(MANY),
            *(_late(number, QUICK_LATE_ANSWER_TOKENS) for number in QUICK_LATE),
            _distinct(QUICK_DISTINCT),
            *(_overlap(2, percent, stagger) for percent, stagger in QUICK_OVERLAPS),
        ),
        QUICK_ROUNDS,
    )


def served(*, quick: bool) -> tuple[ServedCase, ...]:
    """The bursts over HTTP."""
    burst = ServedCase(Kind.IDENTICAL, MANY, PROMPT_TOKENS, ANSWER_TOKENS)
    if quick:
        return (burst,)
    length = DOCUMENT_TOKENS + QUESTION_TOKENS
    return burst, ServedCase(Kind.DOCUMENT, MANY, length, ANSWER_TOKENS)


def _burst(requests: int, *, compared: bool) -> Case:
    sides = (Side.ONDOL, Side.INDEPENDENT) if compared else (Side.ONDOL,)
    return Case(Kind.IDENTICAL, requests, PROMPT_TOKENS, PROMPT_TOKENS, ANSWER_TOKENS, sides)


def _document(requests: int, *, compared: bool = False) -> Case:
    sides = (Side.ONDOL, Side.INDEPENDENT) if compared else (Side.ONDOL,)
    length = DOCUMENT_TOKENS + QUESTION_TOKENS
    return Case(Kind.DOCUMENT, requests, length, DOCUMENT_TOKENS, ANSWER_TOKENS, sides)


def _late(requests: int, answer_tokens: int) -> Case:
    sides = (Side.ONDOL, Side.ON_COMPLETION, Side.LEADER_FINISHED)
    length = LATE_PROMPT_TOKENS
    return Case(Kind.LATE, requests, length, length, answer_tokens, sides)


def _distinct(requests: int) -> Case:
    sides = (Side.ONDOL, Side.INDEPENDENT)
    return Case(Kind.DISTINCT, requests, PROMPT_TOKENS, 0, ANSWER_TOKENS, sides)


def _overlap(requests: int, percent: int, stagger_s: float) -> Case:
    shared = round(PROMPT_TOKENS * percent / 100)
    return Case(
        Kind.OVERLAP, requests, PROMPT_TOKENS, shared, ANSWER_TOKENS, _WAIT_SIDES, stagger_s
    )
