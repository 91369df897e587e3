"""What a run of `ondol bench gui` says, from known figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.bench.gui import HIDDEN, IDLE, SERVE, VISIBLE, GuiResults, Section
from app.bench.gui_report import GuiConditions, render, to_json, verdicts
from app.bench.load import LoadResult

CALM = Section(20.0, 2000, 0.0101, 0.015, 0.06, 0.12)
CONDITIONS = GuiConditions(
    started_at="2026-01-01T00:00:00+00:00",
    model="Tiny-1B",
    display="Xvfb",
    clients=8,
    cores=2,
    threads=2,
    load_before=0.1,
    versions={"ondol": "0.0", "PySide6-Essentials": "0.0"},
    platform="Test OS",
)

Make = Callable[..., GuiResults]


@pytest.fixture
def make() -> Make:
    """Results whose rounds are alike; `visible_s` is how long a load takes beside the dashboard
    that `ondol serve` does in 10 s."""

    def make(visible_s: float = 10.2, rounds: int = 3, **of_visible: Any) -> GuiResults:
        one = {
            SERVE: LoadResult(400, 10.0),
            VISIBLE: LoadResult(400, visible_s),
            HIDDEN: LoadResult(400, 10.0),
        }
        sections = {
            VISIBLE: replace(CALM, **of_visible),
            HIDDEN: replace(CALM, cpu_share=0.005),
            IDLE: CALM,
            "between": CALM,
        }
        return GuiResults((one,) * rounds, sections, first_paint_s=0.8)

    return make


def test_a_calm_window_meets_every_bar(make: Make) -> None:
    assert all(bar.met for bar in verdicts(make()))
    assert "6 of 6 bars met, 0 missed." in render(make(), CONDITIONS)


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"gap_p99_s": 0.041}, "main-thread gap, p99"),
        ({"gap_max_s": 0.101}, "main-thread gap, longest"),
        ({"cpu_share": 0.21}, "CPU of a core, visible"),
        ({"visible_s": 10.6}, "throughput of serve's, visible"),
    ],
)
def test_a_missed_bar_is_named(make: Make, changes: dict[str, float], missed: str) -> None:
    results = make(**changes)
    assert [bar.what for bar in verdicts(results) if not bar.met] == [missed]
    assert f"MISSED  {missed}" in render(results, CONDITIONS)


def test_the_table_has_a_line_for_each_phase(make: Make) -> None:
    lines = render(make(), CONDITIONS).splitlines()
    table = {line[:20].strip(): line for line in lines[4:9]}
    assert "40.0" in table["ondol serve"]
    assert "100.0 %" in table["ondol serve"]
    assert "98.0 %" in table["dashboard visible"]
    assert "0.5 %" in table["window hidden"]
    assert "60.0" in table["visible, nobody asks"]
    assert len({len(line) for line in table.values()}) == 1


def test_the_json_has_every_sample(make: Make) -> None:
    data = json.loads(json.dumps(to_json(make(rounds=2), CONDITIONS)))
    assert data["schema"] == "ondol-bench-gui"
    assert data["rounds"][1]["visible"] == {"tokens": 400, "seconds": 10.2}
    assert data["relative"]["visible"]["median"] == pytest.approx(10 / 10.2)
    assert data["sections"]["visible"]["gap_p99_s"] == 0.015
    assert all(bar["met"] for bar in data["verdicts"])
