"""The committed translations are those of the texts in the window: none missing, none too many."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = ROOT / "resources/i18n/ondol_ko.ts"

_PLACE = re.compile(r"{\w+}|%n|%\d")
_HANGUL = re.compile(r"[가-힣]")


def _tool(name: str, *arguments: str) -> None:
    command = Path(sys.executable).with_name(f"pyside6-{name}")
    subprocess.run([str(command), "-silent", *arguments], check=True, cwd=ROOT)


def _messages(texts: Path) -> list[tuple[str, str, str]]:
    """Context, source, translation; an unfinished one is empty."""
    found = []
    for context in ET.parse(texts).iter("context"):
        for message in context.iter("message"):
            translation = message.find("translation")
            assert translation is not None
            unfinished = translation.get("type") == "unfinished"
            text = "" if unfinished else "".join(translation.itertext()).strip()
            found.append((context.findtext("name", ""), message.findtext("source", ""), text))
    return found


@pytest.fixture(scope="module")
def committed() -> list[tuple[str, str, str]]:
    return _messages(TEXTS)


def test_nothing_waits_for_a_translation(committed: list[tuple[str, str, str]]) -> None:
    assert [entry for entry in committed if not entry[2]] == []


def test_collecting_again_finds_nothing_new_and_nothing_gone(
    committed: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    again = tmp_path / TEXTS.name
    shutil.copy(TEXTS, again)
    sources = [str(path) for path in sorted((ROOT / "app/gui").rglob("*.py"))]
    _tool("lupdate", "-locations", "none", "-no-obsolete", *sources, "-ts", str(again))
    assert _messages(again) == committed, "say `make translations`"


def test_the_compiled_file_is_of_these_texts(tmp_path: Path) -> None:
    compiled = tmp_path / "again.qm"
    _tool("lrelease", str(TEXTS), "-qm", str(compiled))
    assert compiled.read_bytes() == TEXTS.with_suffix(".qm").read_bytes()


def test_every_translation_keeps_the_places_of_its_figures(
    committed: list[tuple[str, str, str]],
) -> None:
    for _, source, translation in committed:
        assert Counter(_PLACE.findall(source)) == Counter(_PLACE.findall(translation)), source


def test_every_sentence_is_in_korean(committed: list[tuple[str, str, str]]) -> None:
    """What has no Korean in it is a name, a unit or a frame for figures."""
    for _, source, translation in committed:
        if translation != source:
            assert _HANGUL.search(translation) or len(source) < 12, source
