from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlite_utils import Database

from app.storage import templates
from app.storage.content import MAX_CONTENT_BYTES, TemplateKind
from app.storage.errors import InvalidTemplate, NameTaken
from app.storage.template_files import import_file
from tests.support.storage import NOON

TOOLS = json.dumps([{"type": "function", "function": {"name": "oven"}}], indent=2)
MESSAGES = '[{"role": "user", "content": "Hi"}]'


def test_a_text_file(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "House rules.md"
    file.write_bytes("\ufeff온돌\r\n\tis warm ".encode())
    template = import_file(db, file, tags=["home"], now=NOON)
    assert (template.name, template.kind) == ("House rules", TemplateKind.DOCUMENT)
    assert template.tags == ("home",)
    assert template.latest.text == "온돌\r\n\tis warm "


@pytest.mark.parametrize(
    ("content", "kind"),
    [(TOOLS, TemplateKind.TOOL_SCHEMA), (MESSAGES, TemplateKind.CHAT_HISTORY)],
)
def test_a_json_file(db: Database, tmp_path: Path, content: str, kind: TemplateKind) -> None:
    file = tmp_path / "kitchen.JSON"
    file.write_text(content)
    template = import_file(db, file, now=NOON)
    assert (template.name, template.kind) == ("kitchen", kind)
    assert template.latest.content == content


def test_name_and_kind_as_chosen(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(TOOLS)
    template = import_file(db, file, kind=TemplateKind.DOCUMENT, name="As a text", now=NOON)
    assert (template.name, template.latest.text) == ("As a text", TOOLS)


def test_a_name_that_is_taken(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "Rules.txt"
    file.write_text("Be brief.")
    import_file(db, file, now=NOON)
    with pytest.raises(NameTaken, match="“Rules”"):
        import_file(db, file, now=NOON)


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("a.txt", b"abc\xff", r"a\.txt is not UTF-8 text: byte 3"),
        ("a.txt", "온돌".encode("utf-16"), "not UTF-8 text: byte 0"),
        ("a.txt", b"PK\0\0", "zero byte at position 2"),
        ("a.txt", b"", "empty"),
        ("a.txt", b"x" * (MAX_CONTENT_BYTES + 1), "the most is 8 MiB"),
        ("a.txt", "한".encode() * 3_000_000, "the most is 8 MiB"),
        ("a.json", b"{}", "neither a list of tools nor a list of messages"),
        ("a.json", b"[{]", "neither a list of tools"),
        ("a.json", b'[{"function": 1}]', "Tool 1: “type”"),
        ("a.json", b'[{"role": "robot"}]', "Message 1: “role”"),
    ],
)
def test_files_that_are_refused(
    db: Database, tmp_path: Path, name: str, data: bytes, complaint: str
) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(InvalidTemplate, match=complaint):
        import_file(db, file, now=NOON)
    assert templates.find(db) == ()


def test_files_that_cannot_be_read(db: Database, tmp_path: Path) -> None:
    with pytest.raises(InvalidTemplate, match=r"missing\.txt cannot be read: No such file"):
        import_file(db, tmp_path / "missing.txt", now=NOON)
    with pytest.raises(InvalidTemplate, match="cannot be read: Is a directory"):
        import_file(db, tmp_path, now=NOON)
