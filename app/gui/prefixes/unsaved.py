"""What somebody was writing when Ondol had to end, kept until it is saved or discarded."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from app.storage.content import TemplateKind

logger = logging.getLogger(__name__)

FILE_NAME = "unsaved.json"

_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Unsaved:
    """The fields of the sheet. `template_id` is None for a new template; `content` is None where
    the text was not touched."""

    kind: TemplateKind
    template_id: int | None
    name: str
    tags: str
    content: str | None
    note: str = ""

    def is_of(self, kind: TemplateKind, template_id: int | None) -> bool:
        """Whether this sheet wrote it: of a new template there is one of each kind."""
        if template_id is None:
            return self.template_id is None and self.kind is kind
        return self.template_id == template_id


class UnsavedWork:
    """A file of them in the data folder. Quick: there is hardly ever one."""

    def __init__(self, data_folder: Path) -> None:
        self._path = data_folder / FILE_NAME

    def all(self) -> tuple[Unsaved, ...]:
        """Oldest first; what cannot be read is left where it is."""
        try:
            items = json.loads(self._path.read_text(encoding="utf-8"))
            return tuple(_decode(item) for item in items)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            logger.warning("unsaved work could not be read: %s", type(error).__name__)
            return ()

    def find(self, kind: TemplateKind, template_id: int | None) -> Unsaved | None:
        return next((item for item in self.all() if item.is_of(kind, template_id)), None)

    def keep(self, unsaved: Unsaved) -> None:
        """In the place of what this sheet has left before. Never fails: Ondol is ending."""
        others = self._without(unsaved.kind, unsaved.template_id)
        self._write((*others, unsaved))

    def forget(self, kind: TemplateKind, template_id: int | None) -> None:
        """It was saved, or is not wanted."""
        items = self.all()
        others = self._without(kind, template_id)
        if len(others) != len(items):
            self._write(others)

    def begin_anew(self, unsaved: Unsaved) -> Unsaved:
        """The template is gone: what was written becomes a new one."""
        anew = replace(unsaved, template_id=None, note="")
        if unsaved.template_id is not None:
            self.forget(unsaved.kind, unsaved.template_id)
            self.keep(anew)
        return anew

    def _without(self, kind: TemplateKind, template_id: int | None) -> tuple[Unsaved, ...]:
        return tuple(item for item in self.all() if not item.is_of(kind, template_id))

    def _write(self, items: tuple[Unsaved, ...]) -> None:
        unfinished = self._path.with_name(f"{FILE_NAME}.new")
        try:
            if not items:
                self._path.unlink(missing_ok=True)
                return
            text = json.dumps([{**asdict(item), "kind": item.kind.value} for item in items])
            unfinished.unlink(missing_ok=True)
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            unfinished.replace(self._path)
        except OSError as error:
            logger.warning("unsaved work could not be kept: %s", type(error).__name__)
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)


def _decode(item: dict[str, Any]) -> Unsaved:
    template_id, content = item["template_id"], item["content"]
    return Unsaved(
        kind=TemplateKind(item["kind"]),
        template_id=None if template_id is None else int(template_id),
        name=str(item["name"]),
        tags=str(item["tags"]),
        content=None if content is None else str(content),
        note=str(item["note"]),
    )
