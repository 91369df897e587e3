"""The pictures of the window: complete, small, and true in their colours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage, QLinearGradient, QPainter

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "resources/screenshots"
PAGES = ("dashboard", "prefixes", "requests", "connect", "settings")
MAX_BYTES = 150_000


@pytest.mark.parametrize("look", ["light", "dark", "korean"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_a_picture_of_every_look(page: str, look: str) -> None:
    path = PICTURES / f"{page}-{look}.png"
    assert path.stat().st_size < MAX_BYTES
    picture = QImage(str(path))
    assert (picture.width(), picture.height()) == (2000, 1360)
    assert (picture.pixelColor(5, 5).lightness() < 128) == (look == "dark")


def test_nothing_else_lies_there() -> None:
    assert len(list(PICTURES.iterdir())) == 3 * len(PAGES)


def test_a_small_png_keeps_the_colours_of_its_areas(tmp_path: Path) -> None:
    picture = QImage(400, 300, QImage.Format.Format_RGB32)
    picture.fill(QColor("#f5f5f7"))
    painter = QPainter(picture)
    painter.fillRect(20, 20, 200, 100, QColor("#c2410c"))
    painter.fillRect(20, 130, 200, 100, QColor("#c2410d"))
    fade = QLinearGradient(0, 0, 400, 0)
    fade.setColorAt(0, QColor("#000000"))
    fade.setColorAt(1, QColor("#00ffff"))
    painter.fillRect(0, 250, 400, 50, fade)
    painter.end()
    source, made = tmp_path / "source.png", tmp_path / "made.png"
    picture.save(str(source))
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'packaging/screenshots')!r})\n"
        "from pathlib import Path; from PySide6.QtGui import QImage\n"
        "from small_png import save_small\n"
        f"save_small(QImage({str(source)!r}), Path({str(made)!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    small = QImage(str(made))
    assert small.colorCount() <= 256
    assert small.pixelColor(1, 1).name() == "#f5f5f7"
    assert small.pixelColor(30, 30).name() == "#c2410c"
    assert abs(small.pixelColor(200, 270).green() - 128) < 12, "a fade gets the nearest colour"
