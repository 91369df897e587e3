"""The bars of `ondol bench house`."""

from __future__ import annotations

from app.bench.house import CaseResult, HouseResults, named
from app.bench.verdict import Verdict

TTFT_FACTOR = 1.05  # one command against itself differs by up to 4 % (design §5)
COMPUTED_FACTOR = 1.0


def verdicts(results: HouseResults) -> tuple[Verdict, ...]:
    """Every bar that applies to what was measured, bar by bar."""
    return (
        *(_hit_rate(case) for case in results.cases),
        *(_ttft(case) for case in results.cases),
    )


def _hit_rate(case: CaseResult) -> Verdict:
    what = f"{named(case.clients)}, prompt tokens not found, on / off"
    return Verdict(what, case.prompt_tokens, case.computed_ratio, COMPUTED_FACTOR)


def _ttft(case: CaseResult) -> Verdict:
    what = f"{named(case.clients)}, mean first token, on / off"
    return Verdict(what, case.prompt_tokens, case.ttft_ratio, TTFT_FACTOR)
