"""The bars of `ondol bench house`."""

from __future__ import annotations

from collections.abc import Iterator

from app.bench.house import CaseResult, HouseResults, Peak, named
from app.bench.verdicts import Verdict, counted
from engine.config import GIB

TTFT_FACTOR = 1.05  # one command against itself differs by up to 4 % (design §5)
COMPUTED_FACTOR = 1.0
# Arrays of one forward pass, freed buffers that MLX keeps for the next, Python and its libraries.
RESERVE_BYTES = GIB
PEAK_FACTOR = 1.0


def verdicts(results: HouseResults) -> tuple[Verdict, ...]:
    """Every bar that applies to what was measured, bar by bar."""
    return (
        *(_hit_rate(case) for case in results.cases),
        *(_ttft(case) for case in results.cases),
        *_memory(results),
    )


def peak_share(peak: Peak) -> float:
    """Of what the server may take."""
    return peak.process_bytes / (peak.budget_bytes + peak.weights_bytes + RESERVE_BYTES)


def _hit_rate(case: CaseResult) -> Verdict:
    what = f"{named(case.clients)}, prompt tokens not found, on / off"
    return Verdict(what, case.prompt_tokens, case.computed_ratio, COMPUTED_FACTOR)


def _ttft(case: CaseResult) -> Verdict:
    what = f"{named(case.clients)}, mean first token, on / off"
    return Verdict(what, case.prompt_tokens, case.ttft_ratio, TTFT_FACTOR)


def _memory(results: HouseResults) -> Iterator[Verdict]:
    most_tokens = max(case.prompt_tokens for case in results.cases)
    for name, peak in (("on", results.on_peak), ("off", results.off_peak)):
        what = f"peak memory / budget + weights + 1 GiB, {name}"
        yield Verdict(what, most_tokens, counted(peak_share(peak)), PEAK_FACTOR)
