"""Which templates are to be kept warm. What the engine makes of them is the engine's to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from app.storage import templates
from app.storage.content import TemplateKind
from app.storage.errors import InvalidTemplate, NotPinned, UnknownTemplate
from app.storage.templates import Template

if TYPE_CHECKING:
    from sqlite_utils import Database

PinnedVersion = int | Literal["latest"]

_POLICY_KINDS = (
    TemplateKind.SYSTEM_POLICY,
    TemplateKind.HOUSE_INSTRUCTIONS,
    TemplateKind.DOCUMENT,
)


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned template: one of its versions, or whichever is the latest. `with_template_id` is the
    policy that a tool schema is sent with; None where it is sent alone."""

    template_id: int
    version: PinnedVersion
    pinned_at: float
    with_template_id: int | None = None


def pin(
    db: Database,
    template_id: int,
    version: PinnedVersion = "latest",
    *,
    with_template_id: int | None = None,
    now: float,
) -> Pin:
    """Pin a living template; a pin that it has already becomes this one. Raises UnknownTemplate,
    and InvalidTemplate where the two do not go together."""
    template = templates.get_living(db, template_id)
    if version != "latest" and not 1 <= version <= template.latest.number:
        raise UnknownTemplate(
            f"“{template.name}” has no version {version}; the latest is {template.latest.number}."
        )
    if with_template_id is not None:
        _check_pair(template, templates.get_living(db, with_template_id))
    row = {
        "template_id": template_id,
        "version": None if version == "latest" else version,
        "pinned_at": now,
        "with_template_id": with_template_id,
    }
    db.table("pin").upsert(row, pk="template_id")
    return Pin(template_id, version, now, with_template_id)


def unpin(db: Database, template_id: int) -> None:
    """Raises NotPinned."""
    gone = db.execute("DELETE FROM pin WHERE template_id = ?", (template_id,)).rowcount
    if not gone:
        raise NotPinned("This template is not pinned.")


def all_pins(db: Database) -> tuple[Pin, ...]:
    """The pins of living templates, oldest first. A deleted template's pin comes back with it, and
    so does a deleted policy: until then the tool schema stands alone."""
    rows = db.query(
        """
        SELECT pin.template_id, pin.version, pin.pinned_at, policy.id AS policy_id
        FROM pin JOIN template ON template.id = pin.template_id
        LEFT JOIN template AS policy
            ON policy.id = pin.with_template_id AND policy.deleted_at IS NULL
        WHERE template.deleted_at IS NULL ORDER BY pin.pinned_at, pin.template_id
        """
    )
    return tuple(
        Pin(
            row["template_id"],
            "latest" if row["version"] is None else row["version"],
            row["pinned_at"],
            row["policy_id"],
        )
        for row in rows
    )


def _check_pair(tools: Template, policy: Template) -> None:
    if tools.kind is not TemplateKind.TOOL_SCHEMA:
        raise InvalidTemplate(f"“{tools.name}” is no tool schema, so it is sent alone.")
    if policy.kind not in _POLICY_KINDS:
        raise InvalidTemplate(f"“{policy.name}” is no text that could stand before tools.")
