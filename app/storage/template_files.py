"""A new template from a file: UTF-8 text, or JSON with tools or messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from app.storage import templates
from app.storage.content import MAX_CONTENT_BYTES, TemplateKind, guess_json_kind
from app.storage.errors import InvalidTemplate
from app.storage.templates import Template

if TYPE_CHECKING:
    from sqlite_utils import Database

_BYTE_ORDER_MARK = 3


def import_file(
    db: Database,
    path: Path,
    *,
    kind: TemplateKind | None = None,
    name: str | None = None,
    tags: Iterable[str] = (),
    now: float,
) -> Template:
    """Create a template from the file, to the letter but without a byte order mark.

    kind   None: by what a .json file holds; anything else is a document
    name   None: the file's name without its ending

    Raises InvalidTemplate, also where the file cannot be read; NameTaken.
    """
    content = _read(path)
    if kind is None:
        kind = _guess_kind(path, content)
    return templates.create(
        db, path.stem if name is None else name, kind, content, tags=tags, now=now
    )


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONTENT_BYTES + _BYTE_ORDER_MARK + 1)
    except OSError as error:
        raise InvalidTemplate(f"{path.name} cannot be read: {error.strerror}.") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) > MAX_CONTENT_BYTES:
            # It was cut off, perhaps inside of a character. Its length is what is wrong with it.
            return data.decode("utf-8-sig", errors="replace")
        raise InvalidTemplate(
            f"{path.name} is not UTF-8 text: byte {error.start} does not belong in it."
            " Save it as UTF-8."
        ) from None


def _guess_kind(path: Path, content: str) -> TemplateKind:
    if path.suffix.lower() != ".json":
        return TemplateKind.DOCUMENT
    kind = guess_json_kind(content)
    if kind is None:
        raise InvalidTemplate(
            f"{path.name} holds neither a list of tools nor a list of messages."
            " To keep it as a document, choose that kind."
        )
    return kind
