"""The part of a fake desk that keeps templates and pins, by the storage's own rules."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from app.prefixes import Price, pin_name
from app.storage.content import TemplateKind, check_content, clean_name, clean_tags, fold
from app.storage.errors import InvalidTemplate, NameTaken
from app.storage.pins import Pin
from app.storage.templates import Template, TemplateVersion
from engine.snapshot import PinState, PinStatus, Snapshot

T = TypeVar("T")

BYTES_PER_TOKEN = 46_080
TOKENS_PER_S = 200.0


def price_of(content: str) -> Price:
    """One token a word."""
    tokens = len(content.split())
    return Price(tokens, tokens * BYTES_PER_TOKEN, tokens / TOKENS_PER_S)


@dataclass
class FakeTemplates:
    """`versions_of` has every template in all its versions, oldest first, by id."""

    versions_of: dict[int, list[Template]] = field(default_factory=dict)
    pin_of: dict[int, Pin] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)
    now: float = 1_767_225_600.0

    if TYPE_CHECKING:
        snapshot: Snapshot

        def answer(
            self, name: str, arguments: tuple[Any, ...], job: Callable[[], T]
        ) -> Future[T]: ...

    # The test's side

    def add(
        self,
        name: str,
        kind: TemplateKind = TemplateKind.SYSTEM_POLICY,
        content: str = "Be kind.",
        tags: tuple[str, ...] = (),
    ) -> Template:
        """A template that was there before."""
        return self._create(name, kind, content, tags)

    def add_pin(self, template_id: int, with_template_id: int | None = None) -> None:
        """A pin that was there before."""
        self.pin_of[template_id] = Pin(
            template_id, "latest", self.now, with_template_id=with_template_id
        )

    def show(self, **changes: Any) -> None:
        """A newer snapshot with these fields."""
        self.snapshot = replace(self.snapshot, seq=self.snapshot.seq + 1, **changes)

    def show_pin(self, template_id: int, state: PinState, **fields: Any) -> None:
        """A newer snapshot in which a template's prefix stands so."""
        name = pin_name(template_id)
        others = tuple(status for status in self.snapshot.pins if status.name != name)
        self.show(pins=(*others, PinStatus(name, state, **fields)))

    # The desk's side

    def refusal(self, template_id: int) -> str:
        return self.refusals.get(template_id, "")

    def templates(self, search: str = "") -> Future[tuple[Template, ...]]:
        return self.answer("templates", (), lambda: self._list(deleted=False))

    def deleted_templates(self) -> Future[tuple[Template, ...]]:
        return self.answer("deleted_templates", (), lambda: self._list(deleted=True))

    def versions(self, template_id: int) -> Future[tuple[TemplateVersion, ...]]:
        return self.answer(
            "versions",
            (template_id,),
            lambda: tuple(template.latest for template in self.versions_of[template_id]),
        )

    def check_content(self, kind: TemplateKind, content: str) -> Future[None]:
        return self.answer("check_content", (kind, content), lambda: check_content(kind, content))

    def create_template(
        self, name: str, kind: TemplateKind, content: str, tags: tuple[str, ...] = ()
    ) -> Future[Template]:
        return self.answer(
            "create_template",
            (name, kind, content, tags),
            lambda: self._create(name, kind, content, tags),
        )

    def import_template(
        self, path: Path, *, kind: TemplateKind | None = None, name: str | None = None
    ) -> Future[Template]:
        def create() -> Template:
            if path.suffix == ".json" and kind is None:
                raise InvalidTemplate(f"{path.name} holds neither tools nor messages.")
            text = path.read_text(encoding="utf-8")
            return self._create(name or path.stem, kind or TemplateKind.DOCUMENT, text, ())

        return self.answer("import_template", (path, kind, name), create)

    def add_version(self, template_id: int, content: str, note: str = "") -> Future[Template]:
        def add() -> Template:
            now = self._get(template_id)
            check_content(now.kind, content)
            version = _version(now.id, now.kind, now.latest.number + 1, content, note, self.now)
            self.versions_of[template_id].append(replace(now, latest=version))
            return self._get(template_id)

        return self.answer("add_version", (template_id, content, note), add)

    def rename(self, template_id: int, name: str) -> Future[Template]:
        def rename() -> Template:
            self._check_free(name, but=template_id)
            return self._change(template_id, name=clean_name(name))

        return self.answer("rename", (template_id, name), rename)

    def set_tags(self, template_id: int, tags: tuple[str, ...]) -> Future[Template]:
        return self.answer(
            "set_tags",
            (template_id, tags),
            lambda: self._change(template_id, tags=clean_tags(tags)),
        )

    def delete(self, template_id: int) -> Future[Template]:
        return self.answer(
            "delete", (template_id,), lambda: self._change(template_id, deleted_at=self.now)
        )

    def restore(self, template_id: int) -> Future[Template]:
        def restore() -> Template:
            self._check_free(self._get(template_id).name, but=template_id)
            return self._change(template_id, deleted_at=None)

        return self.answer("restore", (template_id,), restore)

    def price(self, kind: TemplateKind, content: str, policy: str | None = None) -> Future[Price]:
        return self.answer(
            "price", (kind, content, policy), lambda: price_of(f"{policy or ''} {content}")
        )

    def pins(self) -> Future[tuple[Pin, ...]]:
        def living() -> tuple[Pin, ...]:
            return tuple(
                pin for pin in self.pin_of.values() if self._get(pin.template_id).deleted_at is None
            )

        return self.answer("pins", (), living)

    def pin(self, template_id: int, with_template_id: int | None = None) -> Future[Pin]:
        def pin() -> Pin:
            self.add_pin(template_id, with_template_id)
            return self.pin_of[template_id]

        return self.answer("pin", (template_id, with_template_id), pin)

    def unpin(self, template_id: int) -> Future[None]:
        return self.answer("unpin", (template_id,), lambda: self.pin_of.__delitem__(template_id))

    def warm(self, template_id: int, with_template_id: int | None = None) -> Future[None]:
        return self.answer("warm", (template_id, with_template_id), lambda: None)

    def cancel_warming(self, template_id: int) -> Future[None]:
        return self.answer("cancel_warming", (template_id,), lambda: None)

    # Inside

    def _list(self, *, deleted: bool) -> tuple[Template, ...]:
        latest = [versions[-1] for versions in self.versions_of.values()]
        found = [template for template in latest if (template.deleted_at is not None) == deleted]
        return tuple(sorted(found, key=lambda template: fold(template.name)))

    def _get(self, template_id: int) -> Template:
        return self.versions_of[template_id][-1]

    def _change(self, template_id: int, **fields: Any) -> Template:
        changed = replace(self._get(template_id), **fields)
        self.versions_of[template_id][-1] = changed
        return changed

    def _create(
        self, name: str, kind: TemplateKind, content: str, tags: tuple[str, ...]
    ) -> Template:
        name, tags = clean_name(name), clean_tags(tags)
        check_content(kind, content)
        self._check_free(name)
        number = len(self.versions_of) + 1
        version = _version(number, kind, 1, content, "", self.now)
        template = Template(number, name, kind, tags, self.now, None, version)
        self.versions_of[number] = [template]
        return template

    def _check_free(self, name: str, but: int | None = None) -> None:
        for template in self._list(deleted=False):
            if fold(template.name) == fold(name) and template.id != but:
                raise NameTaken(template.name)


def _version(
    template_id: int, kind: TemplateKind, number: int, content: str, note: str, now: float
) -> TemplateVersion:
    is_tools = kind is TemplateKind.TOOL_SCHEMA
    text, tools_json = (None, content) if is_tools else (content, None)
    return TemplateVersion(template_id, number, text, tools_json, note, now)
