"""A tool schema is pinned alone or together with the policy that it is sent with."""

from __future__ import annotations

import pytest
from sqlite_utils import Database

from app.storage import pins, templates
from app.storage.content import TemplateKind
from app.storage.errors import InvalidTemplate, UnknownTemplate
from app.storage.pins import Pin
from app.storage.templates import Template
from tests.support.storage import NOON

TOOLS = '[{"type":"function","function":{"name":"oven"}}]'
CHAT = '[{"role":"user","content":"Hi"}]'
DAY_S = 86_400.0


@pytest.fixture
def tools(db: Database) -> Template:
    return templates.create(db, "Tools", TemplateKind.TOOL_SCHEMA, TOOLS, now=NOON)


@pytest.fixture
def policy(db: Database) -> Template:
    return templates.create(db, "Policy", TemplateKind.SYSTEM_POLICY, "Be brief.", now=NOON)


def test_a_pin_remembers_its_policy_until_it_is_made_anew(
    db: Database, tools: Template, policy: Template
) -> None:
    pin = pins.pin(db, tools.id, with_template_id=policy.id, now=NOON)
    assert pin == Pin(tools.id, "latest", NOON, with_template_id=policy.id)
    assert pins.all_pins(db) == (pin,)
    pins.pin(db, tools.id, 1, now=NOON + 1)
    assert pins.all_pins(db) == (Pin(tools.id, 1, NOON + 1),)


def test_a_deleted_policy_leaves_the_tools_alone_and_comes_back(
    db: Database, tools: Template, policy: Template
) -> None:
    pin = pins.pin(db, tools.id, with_template_id=policy.id, now=NOON)
    templates.delete(db, policy.id, now=NOON)
    assert pins.all_pins(db) == (Pin(tools.id, "latest", NOON),)
    templates.restore(db, policy.id)
    assert pins.all_pins(db) == (pin,)
    templates.delete(db, policy.id, now=NOON)
    templates.purge_deleted(db, now=NOON + 31 * DAY_S)
    assert pins.all_pins(db) == (Pin(tools.id, "latest", NOON),)


def test_only_tools_have_a_policy_and_only_a_living_text_is_one(
    db: Database, tools: Template, policy: Template
) -> None:
    chat = templates.create(db, "Chat", TemplateKind.CHAT_HISTORY, CHAT, now=NOON)
    with pytest.raises(InvalidTemplate, match="“Policy” is no tool schema"):
        pins.pin(db, policy.id, with_template_id=policy.id, now=NOON)
    for other in (tools, chat):
        with pytest.raises(InvalidTemplate, match=f"“{other.name}” is no text"):
            pins.pin(db, tools.id, with_template_id=other.id, now=NOON)
    templates.delete(db, policy.id, now=NOON)
    for unknown in (policy.id, 77):
        with pytest.raises(UnknownTemplate):
            pins.pin(db, tools.id, with_template_id=unknown, now=NOON)
    assert pins.all_pins(db) == ()
