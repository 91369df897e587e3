"""The bars of `ondol bench flights` (design §5, requirements S0-4 to S0-11, S0-18)."""

from __future__ import annotations

from collections.abc import Iterator

from app.bench.flights import (
    PAGE_TOKENS,
    CaseResult,
    FlightsResults,
    Kind,
    Server,
    Side,
    followers_ttft_s,
    mean_ttft_s,
    ratio,
    slowest_s,
)
from app.bench.stats import Estimate, estimate, median
from app.bench.verdict import Verdict, counted, scaled

SINGLE_FACTOR, DOCUMENT_FACTOR = 1.3, 1.6
SERVER_FACTOR = 0.25
PAIR_FACTOR = 1.0
RESTORED_SHARE = 480 / 493  # the article's: whole pages
PUBLICATION_SAVING = 48  # percent
LATE_FACTOR, LATE_SLOWEST_FACTOR = 0.28, 1.14
DISTINCT_FACTOR = 1.03
CHOICE_FACTOR = 1.05
SCHEDULING_PERCENT = 2


def verdicts(results: FlightsResults) -> tuple[Verdict, ...]:
    """Every bar that applies to what was measured, bar by bar."""
    return (
        *_identical(results),
        *_document(results),
        *_late(results),
        *_distinct(results),
        *_choices(results),
        *_scheduling(results),
    )


def choice_over_better(result: CaseResult) -> Estimate:
    """Mean time to the first token, as Ondol chooses / the better of forced waiting and forced
    computing.

    Where every choice was the same, it is one of the two ways: its rounds are further rounds of
    that one, and if that is the better, the ratio is 1, as it is where there was nothing to choose.
    The better is told by the medians: the smaller of each pair would be better than either side by
    chance alone.
    """
    seconds = {
        side: [one.mean_ttft_s for one in result.rounds[side]]
        for side in (Side.ONDOL, Side.WAIT, Side.COMPUTE)
    }
    of_choice = seconds[Side.ONDOL]
    if (chosen := result.chosen) is not None:
        forced = seconds[chosen]
        seconds[chosen] = forced + of_choice
        of_choice = [(a + b) / 2 for a, b in zip(of_choice, forced, strict=True)]
    better = min((Side.WAIT, Side.COMPUTE), key=lambda side: median(seconds[side]))
    if better is chosen or not result.waited:
        return Estimate(1.0, 1.0, 1.0, len(of_choice))
    return estimate([a / b for a, b in zip(of_choice, seconds[better], strict=True)])


def over_single(result: CaseResult, single: CaseResult) -> Estimate:
    """Mean time to the first token over that of one request alone, round by round."""
    return ratio(result.rounds[Side.ONDOL], single.rounds[Side.ONDOL], mean_ttft_s)


def _identical(results: FlightsResults) -> Iterator[Verdict]:
    single = results.single(Kind.IDENTICAL)
    for result in results.of_kind(Kind.IDENTICAL):
        case = result.case
        if case.requests == 1:
            continue
        name = f"{case.requests} identical"
        most = max(one.computed_tokens for one in result.rounds[Side.ONDOL])
        bar = case.prompt_tokens + (case.requests - 1) * PAGE_TOKENS
        yield Verdict(
            f"{name}, prompt tokens computed", case.prompt_tokens, counted(most), bar, "tokens"
        )
        if case.requests == 2 and Side.INDEPENDENT in case.sides:
            value = result.ratio(Side.ONDOL, Side.INDEPENDENT, mean_ttft_s)
            yield Verdict(f"{name} / independent", case.prompt_tokens, value, PAIR_FACTOR)
        if case.requests == 8 and single is not None:
            value = over_single(result, single)
            yield Verdict(f"{name} / a single one", case.prompt_tokens, value, SINGLE_FACTOR)
    served = results.served_of(Kind.IDENTICAL)
    ours, theirs = served[Server.ONDOL], served[Server.MLX_LM]
    if ours:
        value = ratio(ours, theirs, mean_ttft_s)
        name = f"{len(ours[0].ttft_s)} identical / {Server.MLX_LM}"
        yield Verdict(name, ours[0].prompt_tokens[0], value, SERVER_FACTOR)


def _document(results: FlightsResults) -> Iterator[Verdict]:
    single = results.single(Kind.DOCUMENT)
    for result in results.of_kind(Kind.DOCUMENT):
        case = result.case
        if case.requests > 1 and single is not None:
            yield Verdict(
                f"{case.requests} questions on a document / a single one",
                case.prompt_tokens,
                over_single(result, single),
                DOCUMENT_FACTOR,
            )


def _late(results: FlightsResults) -> Iterator[Verdict]:
    for result in results.of_kind(Kind.LATE):
        case = result.case
        name = f"{case.requests} identical, late"
        restored = result.restored_tokens(Side.ONDOL) or 0
        bar = int(RESTORED_SHARE * case.prompt_tokens)
        yield Verdict(
            f"{name}, restored by each follower",
            case.prompt_tokens,
            counted(restored),
            bar,
            "tokens",
            at_least=True,
        )
        saved = result.ratio(Side.ONDOL, Side.ON_COMPLETION, followers_ttft_s)
        yield Verdict(
            f"{name}, saved beside publication on completion",
            case.prompt_tokens,
            scaled(saved, -100, 100),
            PUBLICATION_SAVING,
            "%",
            at_least=True,
        )
        ttft = result.ratio(Side.ONDOL, Side.LEADER_FINISHED, followers_ttft_s)
        yield Verdict(f"{name} / leader_finished", case.prompt_tokens, ttft, LATE_FACTOR)
        slowest = result.ratio(Side.ONDOL, Side.LEADER_FINISHED, slowest_s)
        yield Verdict(
            f"{name}, slowest completion / leader_finished",
            case.prompt_tokens,
            slowest,
            LATE_SLOWEST_FACTOR,
        )


def _distinct(results: FlightsResults) -> Iterator[Verdict]:
    for result in results.of_kind(Kind.DISTINCT):
        value = result.ratio(Side.ONDOL, Side.INDEPENDENT, slowest_s)
        yield Verdict(
            f"{result.case.requests} distinct, slowest completion / independent",
            result.case.prompt_tokens,
            value,
            DISTINCT_FACTOR,
        )


def _choices(results: FlightsResults) -> Iterator[Verdict]:
    for result in results.of_kind(Kind.OVERLAP):
        case = result.case
        yield Verdict(
            f"{100 * case.overlap:.0f} % the same x {case.requests}, {case.stagger_s:g} s apart: "
            "choice / the better",
            case.prompt_tokens,
            choice_over_better(result),
            CHOICE_FACTOR,
        )


def _scheduling(results: FlightsResults) -> Iterator[Verdict]:
    found = [
        (result.case, result.scheduling_share)
        for result in results.of_kind(Kind.IDENTICAL)
        if result.case.requests == 8
    ]
    for case, share in found:
        if share is not None:
            yield Verdict(
                f"scheduling of {case.requests} rows that decode, of a step",
                case.prompt_tokens,
                scaled(share, 100),
                SCHEDULING_PERCENT,
                "%",
            )
