from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from contextlib import closing
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import pytest

from app.storage.content import TemplateKind
from app.storage.errors import (
    InvalidTemplate,
    NewerDatabase,
    NotPinned,
    StorageClosed,
    UnknownTemplate,
)
from app.storage.pins import Pin
from app.storage.settings_store import Appearance, Preferences
from app.storage.store import Store
from engine.snapshot import Memory, Snapshot
from tests.support.storage import NOON, Clock, make_record, state_of

WAIT_S = 10.0
DAY_S = 86_400.0


def test_a_house_and_its_templates(store: Store, clock: Clock, tmp_path: Path) -> None:
    file = tmp_path / "manual.txt"
    file.write_text("Press the knob.")
    policy = store.create_template(
        "Policy", TemplateKind.SYSTEM_POLICY, "Be brief.", tags=["home"], note="first"
    ).result(WAIT_S)
    manual = store.import_template(file, name="Oven", tags=["kitchen"]).result(WAIT_S)
    assert manual.latest.text == "Press the knob."
    clock.now += 5
    policy = store.add_template_version(policy.id, "Be kind.", note="better").result(WAIT_S)
    assert (policy.latest.number, policy.latest.created_at) == (2, NOON + 5)
    assert store.rename_template(policy.id, "House policy").result(WAIT_S).name == "House policy"
    assert store.set_template_tags(policy.id, ["all"]).result(WAIT_S).tags == ("all",)
    found = store.list_templates("HOUSE", kind=TemplateKind.SYSTEM_POLICY, tag="ALL")
    assert found.result(WAIT_S) == (store.template(policy.id).result(WAIT_S),)
    assert [v.text for v in store.template_versions(policy.id).result(WAIT_S)] == [
        "Be brief.",
        "Be kind.",
    ]

    store.delete_template(manual.id).result(WAIT_S)
    assert len(store.list_templates().result(WAIT_S)) == 1
    (gone,) = store.list_templates(deleted=True).result(WAIT_S)
    assert (gone.name, gone.deleted_at) == ("Oven", NOON + 5)
    assert store.restore_template(manual.id).result(WAIT_S) == manual


def test_pins(store: Store, clock: Clock) -> None:
    first, second = (
        store.create_template(name, TemplateKind.DOCUMENT, "x").result(WAIT_S) for name in "ab"
    )
    assert store.pin(first.id).result(WAIT_S) == Pin(first.id, "latest", NOON)
    clock.now += 1
    store.pin(second.id, 1).result(WAIT_S)
    assert store.list_pins().result(WAIT_S) == (
        Pin(first.id, "latest", NOON),
        Pin(second.id, 1, NOON + 1),
    )
    clock.now += 1
    store.pin(first.id, 1).result(WAIT_S)
    assert store.list_pins().result(WAIT_S) == (
        Pin(second.id, 1, NOON + 1),
        Pin(first.id, 1, NOON + 2),
    )
    store.unpin(second.id).result(WAIT_S)
    with pytest.raises(NotPinned):
        store.unpin(second.id).result(WAIT_S)
    for version in (0, -1, 2):
        with pytest.raises(UnknownTemplate, match="has no version"):
            store.pin(first.id, version).result(WAIT_S)
    assert store.list_pins().result(WAIT_S) == (Pin(first.id, 1, NOON + 2),)


def test_everything_is_there_after_closing(store: Store, clock: Clock) -> None:
    store.create_template("Rules", TemplateKind.DOCUMENT, "eggs")
    store.pin(1)
    store.update_preferences(lambda now: replace(now, port=9000))
    store.update_preferences(lambda now: replace(now, appearance=Appearance.DARK))
    store.record(make_record(1))
    assert store.close()
    assert store.close()
    assert [file.name for file in store.path.parent.iterdir()] == [store.path.name]

    again = Store(store.path.parent, clock)
    again.open()
    assert [one.name for one in again.list_templates().result(WAIT_S)] == ["Rules"]
    assert again.list_pins().result(WAIT_S) == (Pin(1, "latest", NOON),)
    assert again.preferences().result(WAIT_S) == Preferences(port=9000, appearance=Appearance.DARK)
    assert again.recent_requests().result(WAIT_S) == (make_record(1),)
    again.close()


def test_history_and_charts_include_the_present(store: Store) -> None:
    store.record(make_record(1))
    store.observe(Snapshot(memory=Memory(resident=7)))
    assert store.recent_requests().result(WAIT_S) == (make_record(1),)
    present = store.last_24_hours().result(WAIT_S)[-1]
    assert (present.requests, present.peak_resident_bytes) == (1, 7)
    for number in range(2, 1_500):
        store.record(make_record(number))
    assert len(store.recent_requests().result(WAIT_S)) == 1_000
    assert len(store.recent_requests(limit=5).result(WAIT_S)) == 5


def test_what_was_deleted_long_ago_goes_at_the_next_start(store: Store, clock: Clock) -> None:
    for name in ("old", "young"):
        store.create_template(name, TemplateKind.DOCUMENT, "x")
    store.delete_template(1)
    clock.now += DAY_S
    store.delete_template(2)
    store.close()
    clock.now += 29.5 * DAY_S
    again = Store(store.path.parent, clock)
    again.open()
    assert [one.name for one in again.list_templates(deleted=True).result(WAIT_S)] == ["young"]
    again.close()


def test_arguments_are_taken_when_they_are_given(store: Store) -> None:
    tags = ["kitchen"]
    made = store.create_template("x", TemplateKind.DOCUMENT, "x", tags=tags)
    tags.append("hall")
    assert made.result(WAIT_S).tags == ("kitchen",)


def test_what_comes_out_is_frozen(store: Store) -> None:
    made = store.create_template("x", TemplateKind.DOCUMENT, "x").result(WAIT_S)
    pin = store.pin(made.id).result(WAIT_S)
    (minute, *_) = store.last_24_hours().result(WAIT_S)
    for data in (made, made.latest, pin, minute, store.preferences().result(WAIT_S)):
        with pytest.raises(FrozenInstanceError):
            setattr(data, fields(data)[0].name, None)


def test_a_newer_database_fails_everything_and_is_not_touched(store: Store, clock: Clock) -> None:
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = state_of(store.path.parent)
    again = Store(store.path.parent, clock)
    answers: list[Future[Any]] = [
        again.open(),
        again.create_template("x", TemplateKind.DOCUMENT, "x"),
        again.preferences(),
        again.recent_requests(),
        again.flush(),
    ]
    for answer in answers:
        assert isinstance(answer.exception(WAIT_S), NewerDatabase)
    again.record(make_record(1))
    again.observe(Snapshot(memory=Memory(resident=7)))
    assert isinstance(again.trouble, NewerDatabase)
    assert again.close()
    assert state_of(store.path.parent) == before


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(StorageClosed):
        store.list_templates().result(WAIT_S)


def test_errors_come_through_the_future(store: Store) -> None:
    answer = store.create_template("", TemplateKind.DOCUMENT, "x")
    with pytest.raises(InvalidTemplate, match="A name cannot be empty"):
        answer.result(WAIT_S)
