from __future__ import annotations

import json
import sqlite3
from dataclasses import FrozenInstanceError, replace

import pytest
from sqlite_utils import Database

from app.storage import pins, templates
from app.storage.content import TemplateKind
from app.storage.errors import InvalidTemplate, NameTaken, UnknownTemplate
from app.storage.templates import Template, TemplateVersion
from tests.support.storage import NOON

DAY_S = 86_400.0
TOOLS = '[ {"type":"function", "function":{"name":"oven"}} ]'


def make(db: Database, name: str, content: str = "eggs", **fields: object) -> Template:
    kind = fields.pop("kind", TemplateKind.DOCUMENT)
    return templates.create(db, name, kind, content, now=NOON, **fields)  # type: ignore[arg-type]


def names(found: tuple[Template, ...]) -> list[str]:
    return [template.name for template in found]


def test_a_new_template(db: Database) -> None:
    template = make(db, " Shopping list ", "eggs\r\nflour ", tags=["Food", "home"], note="first")
    assert template == Template(
        id=1,
        name="Shopping list",
        kind=TemplateKind.DOCUMENT,
        tags=("Food", "home"),
        created_at=NOON,
        deleted_at=None,
        latest=TemplateVersion(1, 1, "eggs\r\nflour ", None, "first", NOON),
    )
    assert templates.get(db, 1) == template
    with pytest.raises(FrozenInstanceError):
        template.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("kind", TemplateKind)
def test_the_kind_decides_between_text_and_tools(db: Database, kind: TemplateKind) -> None:
    content = '[{"role": "user", "content": "Hi"}]' if kind is TemplateKind.CHAT_HISTORY else TOOLS
    latest = make(db, "x", content, kind=kind).latest
    expected = (None, content) if kind is TemplateKind.TOOL_SCHEMA else (content, None)
    assert (latest.text, latest.tools_json) == expected
    assert latest.content == content


def test_versions_are_numbered_and_stay(db: Database) -> None:
    made = make(db, "Rules", "one", note="first")
    for number, content in enumerate(["two", "three", "three"], 2):
        template = templates.add_version(db, made.id, content, note=str(number), now=NOON + number)
        assert template.latest == TemplateVersion(
            made.id, number, content, None, str(number), NOON + number
        )
    assert templates.versions(db, made.id) == (
        TemplateVersion(made.id, 1, "one", None, "first", NOON),
        TemplateVersion(made.id, 2, "two", None, "2", NOON + 2),
        TemplateVersion(made.id, 3, "three", None, "3", NOON + 3),
        TemplateVersion(made.id, 4, "three", None, "4", NOON + 4),
    )


def test_a_bad_version_is_refused_and_takes_no_number(db: Database) -> None:
    made = make(db, "Tools", TOOLS, kind=TemplateKind.TOOL_SCHEMA)
    with pytest.raises(InvalidTemplate, match="Tool 1"):
        templates.add_version(db, made.id, "[1]", now=NOON)
    assert templates.add_version(db, made.id, TOOLS, now=NOON).latest.number == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE template_version SET text = 'other'",
        "INSERT INTO template_version VALUES (1, 3, 'x', NULL, '', 0.0)",
        "INSERT INTO template_version VALUES (1, 2, 'x', '[]', '', 0.0)",
        "INSERT INTO template_version VALUES (1, 2, NULL, NULL, '', 0.0)",
        "INSERT INTO template_version VALUES (9, 1, 'x', NULL, '', 0.0)",
    ],
)
def test_the_database_itself_guards_versions(db: Database, statement: str) -> None:
    make(db, "Rules")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(statement)


def test_names_are_unique_among_the_living(db: Database) -> None:
    kitchen = make(db, "Küche")
    with pytest.raises(NameTaken, match="“Küche”") as caught:
        make(db, "KU\u0308CHE ")
    assert caught.value.name == "Küche"
    hall = make(db, "Hall")
    with pytest.raises(NameTaken):
        templates.rename(db, hall.id, "küche")
    assert templates.rename(db, kitchen.id, "KÜCHE").name == "KÜCHE"

    templates.delete(db, kitchen.id, now=NOON)
    assert templates.rename(db, hall.id, "Küche").name == "Küche"
    with pytest.raises(NameTaken):
        templates.restore(db, kitchen.id)
    templates.rename(db, hall.id, "Hall")
    assert templates.restore(db, kitchen.id) == replace(kitchen, name="KÜCHE")


def test_a_refused_template_leaves_nothing(db: Database) -> None:
    for name, content, tags in [("", "x", []), ("x", "", []), ("x", "x", [""])]:
        with pytest.raises(InvalidTemplate):
            make(db, name, content, tags=tags)
    for table in ("template", "template_tag", "template_version"):
        assert db.table(table).count == 0


def test_tags_are_replaced(db: Database) -> None:
    made = make(db, "x", tags=["a", "b"])
    assert templates.set_tags(db, made.id, ["c", "A", "a"]).tags == ("c", "A")
    assert templates.set_tags(db, made.id, []).tags == ()


def test_finding(db: Database) -> None:
    make(db, "온돌 rules", kind=TemplateKind.SYSTEM_POLICY, tags=["Home"])
    make(db, "Straße", tags=["way home"])
    make(db, "apple pie", tags=["FOOD"])
    make(db, "100%_sure")
    gone = make(db, "Gone", tags=["food"])
    templates.delete(db, gone.id, now=NOON)

    assert names(templates.find(db)) == ["100%_sure", "apple pie", "Straße", "온돌 rules"]
    assert names(templates.find(db, " STRASSE ")) == ["Straße"]
    assert names(templates.find(db, "온")) == ["온돌 rules"]
    assert names(templates.find(db, "food")) == ["apple pie"]
    assert names(templates.find(db, "home")) == ["Straße", "온돌 rules"]
    assert names(templates.find(db, "%")) == ["100%_sure"]
    assert names(templates.find(db, "_")) == ["100%_sure"]
    assert names(templates.find(db, "'; --")) == []
    assert names(templates.find(db, tag="home")) == ["온돌 rules"]
    assert names(templates.find(db, kind=TemplateKind.SYSTEM_POLICY)) == ["온돌 rules"]
    assert names(templates.find(db, "home", kind=TemplateKind.DOCUMENT)) == ["Straße"]
    assert names(templates.find(db, deleted=True)) == ["Gone"]
    assert names(templates.find(db, tag="food", deleted=True)) == ["Gone"]


def test_delete_and_undo(db: Database) -> None:
    made = make(db, "Rules", "one", tags=["home"])
    made = templates.add_version(db, made.id, "two", now=NOON)
    pin = pins.pin(db, made.id, 1, now=NOON)
    deleted = templates.delete(db, made.id, now=NOON + 5)
    assert deleted == replace(made, deleted_at=NOON + 5)
    assert templates.find(db) == ()
    assert templates.get(db, made.id) == deleted
    assert len(templates.versions(db, made.id)) == 2
    assert pins.all_pins(db) == ()

    assert templates.restore(db, made.id) == made
    assert templates.restore(db, made.id) == made
    assert templates.find(db) == (made,)
    assert pins.all_pins(db) == (pin,)


def test_a_deleted_template_does_not_change(db: Database) -> None:
    made = make(db, "Rules")
    templates.delete(db, made.id, now=NOON)
    for change in (
        lambda: templates.add_version(db, made.id, "x", now=NOON),
        lambda: templates.rename(db, made.id, "x"),
        lambda: templates.set_tags(db, made.id, []),
        lambda: templates.delete(db, made.id, now=NOON + 1),
        lambda: pins.pin(db, made.id, now=NOON),
    ):
        with pytest.raises(UnknownTemplate, match=r"“Rules” is deleted\. Restore it first"):
            change()
    assert templates.get(db, made.id).deleted_at == NOON


def test_what_was_never_there(db: Database) -> None:
    for ask in (templates.get, templates.versions, templates.restore):
        with pytest.raises(UnknownTemplate, match="no template with the number 7"):
            ask(db, 7)


def test_purge_after_thirty_days(db: Database) -> None:
    living, old, young = (make(db, name, tags=["t"]) for name in ("living", "old", "young"))
    pins.pin(db, old.id, 1, now=NOON)
    templates.delete(db, old.id, now=NOON)
    templates.delete(db, young.id, now=NOON + 1)
    assert templates.purge_deleted(db, now=NOON + 30 * DAY_S) == 0
    assert templates.purge_deleted(db, now=NOON + 30 * DAY_S + 0.5) == 1
    assert names(templates.find(db, deleted=True)) == ["young"]
    assert templates.find(db) == (living,)
    assert [db.table(t).count for t in ("template_version", "template_tag", "pin")] == [2, 2, 0]
    with pytest.raises(UnknownTemplate):
        templates.restore(db, old.id)
    assert make(db, "next").id == 4


def test_the_largest_text_comes_back_whole(db: Database) -> None:
    text = "온돌 은 따뜻하다\n" * (8 * 2**20 // 24)
    assert 8 * 2**20 - 24 < len(text.encode()) <= 8 * 2**20
    assert make(db, "Book", text).latest.text == text


def test_tools_are_kept_to_the_letter(db: Database) -> None:
    made = make(db, "Tools", TOOLS, kind=TemplateKind.TOOL_SCHEMA)
    assert made.latest.tools_json == TOOLS != json.dumps(json.loads(TOOLS))
