"""The list of prefixes: what stands in it, and what it tells Qt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.gui.prefixes.columns import Column
from app.gui.prefixes.filter import PrefixFilter
from app.gui.prefixes.model import PrefixModel
from app.gui.prefixes.rows import PrefixRow
from app.storage.content import TemplateKind
from engine.snapshot import PinState, PinStatus
from tests.support.fake_desk import FakeDesk
from tests.support.fake_templates import price_of

NOW = 1_767_225_600.0
DISPLAY = Qt.ItemDataRole.DisplayRole


@pytest.fixture
def rows(fake_desk: FakeDesk) -> list[PrefixRow]:
    policy = fake_desk.add("Policy", content="Be kind to all", tags=("home",))
    tools = fake_desk.add("Tools", TemplateKind.DOCUMENT, "one two")
    old = fake_desk.add("Old", TemplateKind.HOUSE_INSTRUCTIONS)
    fake_desk.add_pin(policy.id)
    status = PinStatus("template-1", PinState.BUILDING, 1200, 516, 55_296_000, hits=3)
    return [
        PrefixRow(policy, pin=fake_desk.pin_of[policy.id], status=status, last_used=NOW - 300),
        PrefixRow(tools, price=price_of("one two")),
        PrefixRow(replace(old, deleted_at=NOW)),
    ]


@pytest.fixture
def model(rows: list[PrefixRow]) -> PrefixModel:
    model = PrefixModel(clock=lambda: NOW)
    model.show(rows)
    return model


def cells(model: PrefixModel, row: int) -> list[Any]:
    return [model.index(row, column).data() for column in Column]


def test_a_row_in_words(model: PrefixModel) -> None:
    assert cells(model, 0) == [
        "Policy",
        "System policy",
        "1",
        "1,200",
        "53 MiB",
        "Building 43 %",
        "Pinned",
        "3",
        "5 min ago",
    ]
    assert cells(model, 1)[3:] == ["2", "90 KiB", "Not warm", "Not pinned", "0", "–"]


def test_what_is_unknown_is_a_dash(fake_desk: FakeDesk) -> None:
    model = PrefixModel()
    model.show([PrefixRow(fake_desk.add("New"))])
    assert cells(model, 0)[3:5] == ["–", "–"]


def test_it_keeps_the_rules_of_models(
    qtmodeltester: ModelTester, model: PrefixModel, rows: list[PrefixRow]
) -> None:
    qtmodeltester.check(model)
    model.change([replace(rows[0], status=None)])
    model.show(rows[1:])
    model.show(rows)
    model.show([])


def test_its_filter_keeps_them_too(
    qtmodeltester: ModelTester, model: PrefixModel, rows: list[PrefixRow]
) -> None:
    filtered = PrefixFilter(model)
    qtmodeltester.check(filtered)
    filtered.sort(Column.STATE)
    filtered.choose(TemplateKind.SYSTEM_POLICY)
    model.change([replace(rows[0], status=None)])
    filtered.choose(None, deleted=True)
    model.show(rows[:1])


def test_a_change_tells_its_row_alone(
    qtbot: QtBot, model: PrefixModel, rows: list[PrefixRow]
) -> None:
    told: list[tuple[int, int, int, int]] = []
    model.dataChanged.connect(
        lambda first, last, _: told.append((first.row(), first.column(), last.row(), last.column()))
    )
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.changed):
        model.change([rows[0], replace(rows[1], price=price_of("one two three"))])
    assert told == [(1, Column.NAME, 1, Column.LAST_USED)]


def test_what_stays_keeps_its_index(model: PrefixModel, rows: list[PrefixRow]) -> None:
    last = QPersistentModelIndex(model.index(2, 0))
    model.show([rows[2], rows[1]])
    assert last.isValid()
    assert last.data() == "Old"
    assert [row.name for row in model.rows] == ["Tools", "Old"]


def test_time_passes_where_something_was_used(qtbot: QtBot, rows: list[PrefixRow]) -> None:
    now = NOW
    model = PrefixModel(clock=lambda: now)
    model.show(rows)
    model.let_time_pass()
    with qtbot.assertNotEmitted(model.dataChanged):
        now += 1
        model.let_time_pass()
    with qtbot.waitSignal(model.dataChanged):
        now += 60
        model.let_time_pass()
    assert model.index(0, Column.LAST_USED).data() == "6 min ago"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pol", ["Policy"]),
        ("HOME", ["Policy"]),
        ("policy home", ["Policy"]),
        ("policy tools", []),
        ("", ["Policy", "Tools"]),
    ],
)
def test_search_looks_at_names_and_tags(model: PrefixModel, text: str, found: list[str]) -> None:
    filtered = PrefixFilter(model)
    filtered.search(text)
    filtered.sort(Column.NAME)
    assert [filtered.row(n).name for n in range(filtered.rowCount())] == found


def test_deleted_ones_are_apart(model: PrefixModel) -> None:
    filtered = PrefixFilter(model)
    filtered.choose(None, deleted=True)
    assert [filtered.row(n).name for n in range(filtered.rowCount())] == ["Old"]
    assert not filtered.index_of(1).isValid()


@pytest.mark.parametrize("column", list(Column))
def test_every_column_sorts_both_ways(model: PrefixModel, column: Column) -> None:
    filtered = PrefixFilter(model)
    filtered.sort(column, Qt.SortOrder.AscendingOrder)
    up = [filtered.row(n).name for n in range(2)]
    filtered.sort(column, Qt.SortOrder.DescendingOrder)
    down = [filtered.row(n).name for n in range(2)]
    assert sorted(up) == sorted(down) == ["Policy", "Tools"]
    if column is not Column.VERSION:
        assert up != down


def test_numbers_sort_as_numbers(fake_desk: FakeDesk) -> None:
    model = PrefixModel()
    model.show(
        [
            PrefixRow(fake_desk.add(name), price=price_of("word " * count))
            for name, count in (("b", 90), ("a", 1000), ("c", 9))
        ]
    )
    filtered = PrefixFilter(model)
    filtered.sort(Column.TOKENS)
    assert [filtered.row(n).name for n in range(3)] == ["c", "b", "a"]


def test_states(fake_desk: FakeDesk) -> None:
    template = fake_desk.add("Policy")
    fake_desk.add_pin(template.id)
    pin = fake_desk.pin_of[template.id]
    gone = PinStatus("template-1", PinState.ABSENT, 10, kept=False)
    failed = PinStatus("template-1", PinState.FAILED, 10, error="No room.")
    assert PrefixRow(template).state is PinState.ABSENT
    assert PrefixRow(template, status=gone).state is PinState.ABSENT
    assert PrefixRow(template, pin).state is PinState.QUEUED
    refused = PrefixRow(template, pin, refusal="It is too large.")
    assert (refused.state, refused.trouble) == (PinState.FAILED, "It is too large.")
    assert PrefixRow(template, pin, status=failed).trouble == "No room."
    deleted = PrefixRow(replace(template, deleted_at=NOW), pin)
    assert not deleted.pinned
