"""Which templates are to be kept warm. What the engine makes of them is the engine's to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlite_utils import Database

from app.storage import templates
from app.storage.errors import NotPinned, UnknownTemplate

PinnedVersion = int | Literal["latest"]


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned template: one of its versions, or whichever is the latest."""

    template_id: int
    version: PinnedVersion
    pinned_at: float


def pin(db: Database, template_id: int, version: PinnedVersion = "latest", *, now: float) -> Pin:
    """Pin a living template; a pin it has already moves to `version`. Raises UnknownTemplate."""
    template = templates.get_living(db, template_id)
    if version != "latest" and not 1 <= version <= template.latest.number:
        raise UnknownTemplate(
            f"“{template.name}” has no version {version}; the latest is {template.latest.number}."
        )
    number = None if version == "latest" else version
    db.table("pin").upsert(
        {"template_id": template_id, "version": number, "pinned_at": now}, pk="template_id"
    )
    return Pin(template_id, version, now)


def unpin(db: Database, template_id: int) -> None:
    """Raises NotPinned."""
    gone = db.execute("DELETE FROM pin WHERE template_id = ?", (template_id,)).rowcount
    if not gone:
        raise NotPinned("This template is not pinned.")


def all_pins(db: Database) -> tuple[Pin, ...]:
    """The pins of living templates, oldest first. A deleted template's pin comes back with it."""
    rows = db.query(
        """
        SELECT pin.* FROM pin JOIN template ON template.id = pin.template_id
        WHERE template.deleted_at IS NULL ORDER BY pin.pinned_at, pin.template_id
        """
    )
    return tuple(
        Pin(
            row["template_id"],
            "latest" if row["version"] is None else row["version"],
            row["pinned_at"],
        )
        for row in rows
    )
