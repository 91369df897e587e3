"""A run of `ondol bench gui` as a table for people and as JSON for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from app.bench.conditions import Surroundings
from app.bench.gui import HIDDEN, IDLE, MAX_TOKENS, PHASES, SERVE, VISIBLE, GuiResults
from app.bench.report import software
from app.bench.verdict import Verdict, against_bars, counted, scaled, verdicts_json

SCHEMA = "ondol-bench-gui"
SCHEMA_VERSION = 1

_NAMES = {
    SERVE: "ondol serve",
    VISIBLE: "dashboard visible",
    HIDDEN: "window hidden",
    IDLE: "visible, nobody asks",
}
_COLUMNS = ("", "tokens/s", "of serve", "gap p50", "p99", "max, ms", "CPU of a core")


@dataclass(frozen=True, slots=True)
class GuiConditions(Surroundings):
    """Where and how a run was made; `display` is what the window was drawn on."""

    model: str
    display: str
    clients: int
    threads: int


def verdicts(results: GuiResults) -> tuple[Verdict, ...]:
    """Every bar of the design, with the window visible unless it says otherwise. What a section
    counts, over thousands of ticks of its timer, is what it is."""
    visible, hidden = results.sections[VISIBLE], results.sections[HIDDEN]
    relative = scaled(results.relative(VISIBLE), 100)
    return (
        Verdict("main-thread gap, p99", None, counted(1000 * visible.gap_p99_s), 40, "ms"),
        Verdict("main-thread gap, longest", None, counted(1000 * visible.gap_max_s), 100, "ms"),
        Verdict("CPU of a core, visible", None, counted(100 * visible.cpu_share), 20, "%"),
        Verdict("CPU of a core, hidden", None, counted(100 * hidden.cpu_share), 2, "%"),
        Verdict("throughput of serve's, visible", None, relative, 95, "%", at_least=True),
        Verdict("first paint", None, counted(1000 * results.first_paint_s), 1_500, "ms"),
    )


def render(results: GuiResults, conditions: GuiConditions) -> str:
    """The conditions, the table and the bars, ready to print."""
    return "\n".join(
        [
            f"model     {conditions.model}, cores: {conditions.cores}, "
            f"BLAS threads: {conditions.threads}, "
            f"load before: {conditions.load_before:.2f}, window on: {conditions.display}",
            *software(conditions),
            "",
            *_table(results),
            "",
            f"{conditions.clients} requests at once, {MAX_TOKENS} tokens an answer, rounds: "
            f"{len(results.rounds)}. A timer on the main thread should fire every 10 ms;",
            "gap: what lay between two firings. CPU: the main thread's, probe included.",
            "",
            *against_bars(verdicts(results), "round"),
        ]
    )


def to_json(results: GuiResults, conditions: GuiConditions) -> dict[str, Any]:
    """Everything measured. Times in seconds, units of bars as given with each."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "throughput": {phase: asdict(results.throughput(phase)) for phase in PHASES},
        "relative": {phase: asdict(results.relative(phase)) for phase in PHASES},
        "rounds": [{phase: asdict(load) for phase, load in one.items()} for one in results.rounds],
        "sections": {name: asdict(section) for name, section in results.sections.items()},
        "first_paint_s": results.first_paint_s,
        "verdicts": verdicts_json(verdicts(results)),
    }


def _table(results: GuiResults) -> list[str]:
    rows = [_COLUMNS, *(_row(name, results) for name in (SERVE, VISIBLE, HIDDEN, IDLE))]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _row(name: str, results: GuiResults) -> tuple[str, ...]:
    asked = ("", "")
    if name in PHASES:
        relative = results.relative(name).median
        asked = (f"{results.throughput(name).median:.1f}", f"{100 * relative:.1f} %")
    section = results.sections.get(name)
    if section is None:
        return (_NAMES[name], *asked, "", "", "", "")
    gaps = (section.gap_p50_s, section.gap_p99_s, section.gap_max_s)
    return (
        _NAMES[name],
        *asked,
        *(f"{1000 * gap:.1f}" for gap in gaps),
        f"{100 * section.cpu_share:.1f} %",
    )
