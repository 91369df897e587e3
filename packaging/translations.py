"""Bring resources/i18n in line with the texts of the window: collect, then compile."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "resources" / "i18n"
LANGUAGES = ("ko",)


def main() -> int:
    sources = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "app/gui").rglob("*.py"))]
    missing = 0
    for language in LANGUAGES:
        texts = FOLDER / f"ondol_{language}.ts"
        # Without locations a text that only moved changes nothing in the file.
        _run("lupdate", "-locations", "none", "-no-obsolete", *sources, "-ts", str(texts))
        for context, source in unfinished(texts):
            print(f"{texts.name} has no translation: {context}: {source}")
            missing += 1
        _run("lrelease", str(texts), "-qm", str(texts.with_suffix(".qm")))
    return 1 if missing else 0


def unfinished(texts: Path) -> list[tuple[str, str]]:
    """Context and source of the entries that wait for a translation."""
    return [
        (context.findtext("name", ""), message.findtext("source", ""))
        for context in ET.parse(texts).iter("context")
        for message in context.iter("message")
        if _is_unfinished(message)
    ]


def _is_unfinished(message: ET.Element) -> bool:
    translation = message.find("translation")
    if translation is None or translation.get("type") == "unfinished":
        return True
    return not "".join(translation.itertext()).strip()


def _run(tool: str, *arguments: str) -> None:
    command = Path(sys.executable).with_name(f"pyside6-{tool}")
    subprocess.run([str(command), "-silent", *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
