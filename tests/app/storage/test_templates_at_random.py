"""Random histories of templates, versions and pins against a model of a few lines."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlite_utils import Database

from app.storage import pins, templates
from app.storage.content import TemplateKind
from app.storage.errors import NameTaken, NotPinned, UnknownTemplate
from app.storage.migrations import MIGRATIONS
from tests.support.effort import long_histories

# What is spelled, and which name that is to a person.
SPELLINGS = {
    "Küche": "kitchen",
    "KÜCHE": "kitchen",
    "küche": "kitchen",
    "ku\u0308che": "kitchen",
    "Straße": "street",
    "STRASSE": "street",
    "온돌": "ondol",
    "Hall": "hall",
}
TOOLS = '[{"type": "function", "function": {"name": "oven"}}]'
THIRTY_DAYS_S = 30 * 86_400.0

spellings = st.sampled_from(sorted(SPELLINGS))
picks = st.integers(0, 7)


@dataclass
class Expected:
    meaning: str
    kind: TemplateKind
    contents: list[str]
    deleted_at: float | None = None
    pin: int | str | None = None
    pinned_at: float = 0.0
    tags: list[str] = field(default_factory=list)


class TemplatesMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.db = Database(memory=True)
        self.db.execute("PRAGMA foreign_keys = ON")
        for step in MIGRATIONS:
            step(self.db)
        self.expected: dict[int, Expected] = {}
        self.now = 1_000.0

    def teardown(self) -> None:
        self.db.close()

    def is_free(self, meaning: str, but: int | None = None) -> bool:
        return all(
            one.meaning != meaning or one.deleted_at is not None or template_id == but
            for template_id, one in self.expected.items()
        )

    def pick(self, number: int) -> tuple[int, Expected]:
        template_id = sorted(self.expected)[number % len(self.expected)]
        return template_id, self.expected[template_id]

    @rule(name=spellings, kind=st.sampled_from([TemplateKind.DOCUMENT, TemplateKind.TOOL_SCHEMA]))
    def create(self, name: str, kind: TemplateKind) -> None:
        content = TOOLS if kind is TemplateKind.TOOL_SCHEMA else f"text of {self.now}"
        try:
            made = templates.create(self.db, name, kind, content, now=self.now)
        except NameTaken:
            assert not self.is_free(SPELLINGS[name])
            return
        assert self.is_free(SPELLINGS[name])
        assert made.id not in self.expected
        self.expected[made.id] = Expected(SPELLINGS[name], kind, [content])

    @precondition(lambda self: self.expected)
    @rule(number=picks)
    def add_version(self, number: int) -> None:
        template_id, one = self.pick(number)
        content = TOOLS if one.kind is TemplateKind.TOOL_SCHEMA else f"text of {self.now}"
        try:
            template = templates.add_version(self.db, template_id, content, now=self.now)
        except UnknownTemplate:
            assert one.deleted_at is not None
            return
        assert one.deleted_at is None
        one.contents.append(content)
        assert template.latest.number == len(one.contents)

    @precondition(lambda self: self.expected)
    @rule(number=picks, name=spellings)
    def rename(self, number: int, name: str) -> None:
        template_id, one = self.pick(number)
        try:
            templates.rename(self.db, template_id, name)
        except UnknownTemplate:
            assert one.deleted_at is not None
        except NameTaken:
            assert not self.is_free(SPELLINGS[name], but=template_id)
        else:
            assert one.deleted_at is None
            assert self.is_free(SPELLINGS[name], but=template_id)
            one.meaning = SPELLINGS[name]

    @precondition(lambda self: self.expected)
    @rule(number=picks, tags=st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
    def set_tags(self, number: int, tags: list[str]) -> None:
        template_id, one = self.pick(number)
        try:
            templates.set_tags(self.db, template_id, tags)
        except UnknownTemplate:
            assert one.deleted_at is not None
        else:
            one.tags = tags

    @precondition(lambda self: self.expected)
    @rule(number=picks)
    def delete(self, number: int) -> None:
        template_id, one = self.pick(number)
        try:
            templates.delete(self.db, template_id, now=self.now)
        except UnknownTemplate:
            assert one.deleted_at is not None
        else:
            assert one.deleted_at is None
            one.deleted_at = self.now

    @precondition(lambda self: self.expected)
    @rule(number=picks)
    def restore(self, number: int) -> None:
        template_id, one = self.pick(number)
        try:
            templates.restore(self.db, template_id)
        except NameTaken:
            assert not self.is_free(one.meaning, but=template_id)
        else:
            assert self.is_free(one.meaning, but=template_id)
            one.deleted_at = None

    @precondition(lambda self: self.expected)
    @rule(number=picks, version=st.sampled_from([1, 2, 3, "latest"]))
    def pin(self, number: int, version: pins.PinnedVersion) -> None:
        template_id, one = self.pick(number)
        exists = version == "latest" or version <= len(one.contents)
        try:
            pins.pin(self.db, template_id, version, now=self.now)
        except UnknownTemplate:
            assert one.deleted_at is not None or not exists
        else:
            assert one.deleted_at is None
            assert exists
            one.pin, one.pinned_at = version, self.now

    @precondition(lambda self: self.expected)
    @rule(number=picks)
    def unpin(self, number: int) -> None:
        template_id, one = self.pick(number)
        try:
            pins.unpin(self.db, template_id)
        except NotPinned:
            assert one.pin is None
        else:
            assert one.pin is not None
            one.pin = None

    @rule(seconds=st.sampled_from([1.0, THIRTY_DAYS_S]))
    def purge_later(self, seconds: float) -> None:
        self.now += seconds
        old = [
            template_id
            for template_id, one in self.expected.items()
            if one.deleted_at is not None and one.deleted_at < self.now - THIRTY_DAYS_S
        ]
        assert templates.purge_deleted(self.db, now=self.now) == len(old)
        for template_id in old:
            del self.expected[template_id]

    @invariant()
    def all_is_as_expected(self) -> None:
        self.now += 1.0
        for deleted in (False, True):
            expected = {
                template_id
                for template_id, one in self.expected.items()
                if (one.deleted_at is not None) is deleted
            }
            found = templates.find(self.db, deleted=deleted)
            assert {template.id for template in found} == expected
            for template in found:
                one = self.expected[template.id]
                assert SPELLINGS[template.name] == one.meaning
                assert (template.kind, template.deleted_at) == (one.kind, one.deleted_at)
                assert list(template.tags) == one.tags
                versions = templates.versions(self.db, template.id)
                assert [v.number for v in versions] == list(range(1, len(one.contents) + 1))
                assert [v.content for v in versions] == one.contents
                assert template.latest == versions[-1]
        assert {
            (pin.template_id, pin.version, pin.pinned_at) for pin in pins.all_pins(self.db)
        } == {
            (template_id, one.pin, one.pinned_at)
            for template_id, one in self.expected.items()
            if one.pin is not None and one.deleted_at is None
        }


def test_random_histories() -> None:
    run_state_machine_as_test(TemplatesMachine, settings=long_histories(examples=60, steps=30))
