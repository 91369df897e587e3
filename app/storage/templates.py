"""Reusable prompt templates: a name, tags, and numbered versions that never change.

All functions are jobs of the storage thread; `now` is Unix seconds. They raise InvalidTemplate,
NameTaken and UnknownTemplate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.storage.content import TemplateKind, check_content, clean_name, clean_tags, fold
from app.storage.errors import NameTaken, UnknownTemplate

if TYPE_CHECKING:
    from sqlite_utils import Database

KEPT_DELETED_S = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """One state of a template. A tool schema has `tools_json`, every other kind has `text`; a chat
    history's text is a JSON list of messages."""

    template_id: int
    number: int
    text: str | None
    tools_json: str | None
    note: str
    created_at: float

    @property
    def content(self) -> str:
        """Whichever there is."""
        return self.text if self.text is not None else self.tools_json or ""


@dataclass(frozen=True, slots=True)
class Template:
    """A template with its newest version. `deleted_at` is None while it lives."""

    id: int
    name: str
    kind: TemplateKind
    tags: tuple[str, ...]
    created_at: float
    deleted_at: float | None
    latest: TemplateVersion


def create(
    db: Database,
    name: str,
    kind: TemplateKind,
    content: str,
    *,
    tags: Iterable[str] = (),
    note: str = "",
    now: float,
) -> Template:
    """A new template with version 1. Its kind decides whether `content` is text or JSON."""
    name, tags = clean_name(name), clean_tags(tags)
    check_content(kind, content)
    _check_free(db, name)
    row = {"name": name, "name_key": fold(name), "kind": kind.value, "created_at": now}
    template_id: Any = db.table("template").insert(row).last_pk
    _write_tags(db, template_id, tags)
    _write_version(db, template_id, kind, 1, content, note, now)
    return get(db, template_id)


def add_version(
    db: Database, template_id: int, content: str, *, note: str = "", now: float
) -> Template:
    """The next version; those before it stay."""
    template = get_living(db, template_id)
    check_content(template.kind, content)
    number = template.latest.number + 1
    _write_version(db, template_id, template.kind, number, content, note, now)
    return get(db, template_id)


def rename(db: Database, template_id: int, name: str) -> Template:
    get_living(db, template_id)
    name = clean_name(name)
    _check_free(db, name, but=template_id)
    db.table("template").update(template_id, {"name": name, "name_key": fold(name)})
    return get(db, template_id)


def set_tags(db: Database, template_id: int, tags: Iterable[str]) -> Template:
    """These tags instead of the ones before."""
    get_living(db, template_id)
    tags = clean_tags(tags)
    db.execute("DELETE FROM template_tag WHERE template_id = ?", (template_id,))
    _write_tags(db, template_id, tags)
    return get(db, template_id)


def find(
    db: Database,
    search: str = "",
    *,
    kind: TemplateKind | None = None,
    tag: str | None = None,
    deleted: bool = False,
) -> tuple[Template, ...]:
    """Living templates, or those that were deleted, by name.

    search   occurs in the name or a tag, in whatever case
    tag      is one of the tags, in whatever case
    """
    conditions = [f"deleted_at IS {'NOT ' if deleted else ''}NULL"]
    if search.strip():
        conditions.append(
            "(INSTR(name_key, :search) OR EXISTS (SELECT 1 FROM template_tag"
            " WHERE template_id = template.id AND INSTR(tag_key, :search)))"
        )
    if kind is not None:
        conditions.append("kind = :kind")
    if tag is not None:
        conditions.append(
            "EXISTS (SELECT 1 FROM template_tag WHERE template_id = template.id AND tag_key = :tag)"
        )
    values = {
        "search": fold(search.strip()),
        "kind": kind.value if kind else None,
        "tag": fold(tag.strip()) if tag is not None else None,
    }
    sql = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY name_key, template.id"
    return tuple(_template(row) for row in db.query(sql, values))


def versions(db: Database, template_id: int) -> tuple[TemplateVersion, ...]:
    """All versions, 1 first, of a template that may be deleted."""
    rows = db.query(
        "SELECT * FROM template_version WHERE template_id = ? ORDER BY number", (template_id,)
    )
    found = tuple(_version(row) for row in rows)
    if not found:
        raise _unknown(template_id)
    return found


def get(db: Database, template_id: int) -> Template:
    """One template, deleted or not."""
    for row in db.query(f"{_SELECT} WHERE template.id = ?", (template_id,)):
        return _template(row)
    raise _unknown(template_id)


def get_living(db: Database, template_id: int) -> Template:
    """One template that is not deleted."""
    template = get(db, template_id)
    if template.deleted_at is not None:
        raise UnknownTemplate(f"The template “{template.name}” is deleted. Restore it first.")
    return template


def delete(db: Database, template_id: int, *, now: float) -> Template:
    """Take the template out of sight. Its name is free; `restore` brings it back for 30 days."""
    get_living(db, template_id)
    db.table("template").update(template_id, {"deleted_at": now})
    return get(db, template_id)


def restore(db: Database, template_id: int) -> Template:
    """Undo `delete`. Does nothing where the template lives; NameTaken where its name was reused."""
    template = get(db, template_id)
    if template.deleted_at is None:
        return template
    _check_free(db, template.name, but=template_id)
    db.table("template").update(template_id, {"deleted_at": None})
    return get(db, template_id)


def purge_deleted(db: Database, *, now: float) -> int:
    """Remove for good what was deleted more than 30 days ago. Returns how many that were."""
    return db.execute("DELETE FROM template WHERE deleted_at < ?", (now - KEPT_DELETED_S,)).rowcount


_SELECT = """
    SELECT
        template.*, version.number, version.text, version.tools_json, version.note,
        version.created_at AS version_created_at,
        (
            SELECT JSON_GROUP_ARRAY(tag) FROM (
                SELECT tag FROM template_tag WHERE template_id = template.id ORDER BY position
            )
        ) AS tags
    FROM template JOIN template_version AS version ON version.template_id = template.id
        AND version.number = (
            SELECT MAX(number) FROM template_version WHERE template_id = template.id
        )
"""


def _unknown(template_id: int) -> UnknownTemplate:
    return UnknownTemplate(f"There is no template with the number {template_id} any more.")


def _check_free(db: Database, name: str, but: int | None = None) -> None:
    taken = db.execute(
        "SELECT name FROM template WHERE name_key = ? AND deleted_at IS NULL AND id IS NOT ?",
        (fold(name), but),
    ).fetchone()
    if taken is not None:
        raise NameTaken(taken[0])


def _write_tags(db: Database, template_id: int, tags: Iterable[str]) -> None:
    db.table("template_tag").insert_all(
        {"template_id": template_id, "position": position, "tag": tag, "tag_key": fold(tag)}
        for position, tag in enumerate(tags)
    )


def _write_version(
    db: Database,
    template_id: int,
    kind: TemplateKind,
    number: int,
    content: str,
    note: str,
    now: float,
) -> None:
    is_tools = kind is TemplateKind.TOOL_SCHEMA
    db.table("template_version").insert(
        {
            "template_id": template_id,
            "number": number,
            "text": None if is_tools else content,
            "tools_json": content if is_tools else None,
            "note": note,
            "created_at": now,
        }
    )


def _template(row: Mapping[str, Any]) -> Template:
    return Template(
        id=row["id"],
        name=row["name"],
        kind=TemplateKind(row["kind"]),
        tags=tuple(json.loads(row["tags"])),
        created_at=row["created_at"],
        deleted_at=row["deleted_at"],
        latest=TemplateVersion(
            template_id=row["id"],
            number=row["number"],
            text=row["text"],
            tools_json=row["tools_json"],
            note=row["note"],
            created_at=row["version_created_at"],
        ),
    )


def _version(row: Mapping[str, Any]) -> TemplateVersion:
    return TemplateVersion(**row)
