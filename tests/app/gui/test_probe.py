"""The probe's arithmetic and its orders, with a stage that only notes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.gui.probe import Probe


class Stage:
    def __init__(self) -> None:
        self.shown: list[bool] = []

    def show_window(self) -> None:
        self.shown.append(True)

    def hide_window(self) -> None:
        self.shown.append(False)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "probe.json"


@pytest.fixture
def probe(qtbot: QtBot, report: Path) -> Iterator[Probe]:
    probe = Probe(report)
    yield probe
    probe.write()
    probe.deleteLater()


def read(report: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def test_gaps_belong_to_the_section_that_was_marked(
    probe: Probe, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = iter([(0.0, 0.0), (0.01, 0.001), (0.02, 0.002), (0.12, 0.052), (0.13, 0.053)])
    monkeypatch.setattr("app.gui.probe._clocks", lambda: next(clocks))
    probe.start()
    probe._timer.stop()
    probe._beat()
    probe.mark("busy")
    probe._beat()
    probe._beat()
    probe.mark("start")
    probe._beat()
    probe.note_first_paint()
    probe.write()
    found = read(report)
    assert found["first_paint_at"] > 0
    assert found["sections"]["start"] == pytest.approx(
        {
            "seconds": 0.02,
            "num_gaps": 2,
            "gap_p50_s": 0.01,
            "gap_p99_s": 0.01,
            "gap_max_s": 0.01,
            "cpu_share": 0.1,
        }
    )
    assert found["sections"]["busy"]["gap_max_s"] == pytest.approx(0.1)
    assert found["sections"]["busy"]["cpu_share"] == pytest.approx(0.051 / 0.11)


def test_it_beats(qtbot: QtBot, probe: Probe) -> None:
    probe.start()
    qtbot.waitUntil(lambda: len(probe._section.gaps_s) >= 5)


def test_orders_come_in_pieces_and_end(qtbot: QtBot, probe: Probe, report: Path) -> None:
    reading, writing = os.pipe()
    stage = Stage()
    probe.listen(reading, stage)
    os.write(writing, b"hi")
    os.write(writing, b"de\nmark a\nshow\nmark\n\xff\n")
    qtbot.waitUntil(lambda: stage.shown == [False, True])
    os.close(writing)
    qtbot.waitUntil(lambda: probe._orders is not None and not probe._orders.isEnabled())
    os.close(reading)
    probe.write()
    assert read(report) == {
        "first_paint_at": 0.0,
        "sections": {"a": read(report)["sections"]["a"]},
    }


def test_a_report_that_cannot_be_written_harms_nobody(qtbot: QtBot, tmp_path: Path) -> None:
    probe = Probe(tmp_path)
    probe.start()
    probe.write()
    probe.deleteLater()
