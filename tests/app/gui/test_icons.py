"""The icons of the window: one hand, any colour."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication

from app.gui.icons import icon
from app.gui.theme import theme

FOLDER = Path(__file__).parents[3] / "resources" / "icons"
NAMES = [
    "dashboard",
    "prefixes",
    "requests",
    "connect",
    "settings",
    "pin",
    "unpin",
    "copy",
    "check",
    "warning",
    "error",
    "play",
    "pause",
    "warm",
    "cancel",
    "edit",
    "delete",
    "undo",
    "plus",
    "search",
    "file",
    "tools",
    "policy",
    "document",
    "house",
    "chat",
    "clock",
    "folder",
    "info",
    "chevron-right",
]


@pytest.mark.parametrize("name", NAMES)
def test_an_icon_is_strokes_of_one_width_in_the_text_colour(name: str) -> None:
    root = ElementTree.parse(FOLDER / f"{name}.svg").getroot()
    assert root.attrib["viewBox"] == "0 0 24 24"
    assert root.attrib["stroke"] == "currentColor"
    assert root.attrib["stroke-width"] == "1.75"
    assert root.attrib["fill"] == "none"
    assert all("stroke-width" not in part.attrib for part in root)


@pytest.mark.parametrize("token", ["text", "accent"])
def test_an_icon_is_painted_in_a_tokens_colour(qapp: QApplication, token: str) -> None:
    image = icon("plus", token).pixmap(QSize(48, 48)).toImage()
    assert image.pixelColor(24, 24) == theme.color(token)
    assert image.pixelColor(2, 2).alpha() == 0


def test_an_unknown_icon_is_an_error(qapp: QApplication) -> None:
    with pytest.raises(FileNotFoundError):
        icon("moon")
