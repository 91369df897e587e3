"""In what order the two sides are asked, and what the app is told; nothing is started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

import app.bench.gui
from app.bench.client import Client
from app.bench.gui import HIDDEN, PHASES, SERVE, VISIBLE, GuiBench
from app.bench.load import LoadResult
from app.bench.workload import Chat


class Diary:
    """Stands for the app, the loads and the clock, and writes down what happens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: list[str] = []
        self.salts: set[str] = set()
        monkeypatch.setattr(app.bench.gui, "run_load", self.run_load)
        monkeypatch.setattr(app.bench.gui, "time", self)

    def show(self) -> None:
        self.lines.append("show")

    def hide(self) -> None:
        self.lines.append("hide")

    def mark(self, section: str) -> None:
        self.lines.append(f"mark {section}")

    def sleep(self, seconds: float) -> None:
        assert seconds > 0

    def run_load(
        self, client: Client, chats: Sequence[Chat], max_tokens: int, salt: str
    ) -> LoadResult:
        assert salt not in self.salts
        self.salts.add(salt)
        self.lines.append(f"load {client}")
        return LoadResult(100, 2.0)


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> Diary:
    return Diary(monkeypatch)


@pytest.fixture
def bench(diary: Diary) -> GuiBench:
    serve, window = cast(Client, "serve"), cast(Client, "app")
    return GuiBench(serve, window, diary, [Chat("", "Hello")], diary.lines.append)


def test_both_sides_are_warm_before_anything_counts(bench: GuiBench, diary: Diary) -> None:
    bench.run(1)
    assert diary.lines[:6] == [
        *("mark start", "load serve", "load app"),
        *("show", "mark idle", "mark between"),
    ]


def test_each_phase_shows_or_hides_and_marks_its_load_alone(bench: GuiBench, diary: Diary) -> None:
    bench.run(1)
    assert diary.lines[6:-1] == [
        *("hide", "load serve", "mark between"),
        *("show", f"mark {VISIBLE}", "load app", "mark between"),
        *("hide", f"mark {HIDDEN}", "load app", "mark between"),
    ]


def test_the_order_changes_from_round_to_round(bench: GuiBench, diary: Diary) -> None:
    rounds = bench.run(3)
    assert [set(one) for one in rounds] == [set(PHASES)] * 3
    told = [at for at, line in enumerate(diary.lines) if line.startswith("round")]
    starts = [6, told[0] + 1, told[1] + 1]
    firsts = [diary.lines[at : at + 2] for at in starts]
    assert firsts == [["hide", "load serve"], ["show", "mark visible"], ["hide", "mark hidden"]]
    assert rounds[0][SERVE].tokens_per_second == 50
