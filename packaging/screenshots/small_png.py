"""PNG files of few bytes for pictures of few colours, such as a window's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QImageWriter

NUM_COLORS = 256
_BIN_BITS = 3  # colours that differ in these lowest bits alone share a place in the palette


def save_small(image: QImage, path: Path) -> None:
    """Write with a palette. Flat areas keep their very colour; smoothed edges get the nearest.

    Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    opaque = image.convertToFormat(QImage.Format.Format_RGB32)
    opaque.setDevicePixelRatio(1)
    small = opaque.convertToFormat(
        QImage.Format.Format_Indexed8, _palette(opaque), Qt.ImageConversionFlag.ThresholdDither
    )
    writer = QImageWriter(str(path), b"png")
    writer.setCompression(100)
    if not writer.write(small):
        raise OSError(f"{path} cannot be written: {writer.errorString()}")


def _palette(image: QImage) -> list[int]:
    """Of the most frequent groups of like colours, the most frequent colour each."""
    pixels = np.frombuffer(image.constBits(), dtype=np.uint32)
    colors, counts = np.unique(pixels, return_counts=True)
    mask = np.uint32(0x010101 * (0xFF & ~((1 << _BIN_BITS) - 1)))
    by_count = np.argsort(-counts, kind="stable")
    groups, first, group_of = np.unique(
        colors[by_count] & mask, return_index=True, return_inverse=True
    )
    totals = np.bincount(group_of, weights=counts[by_count], minlength=len(groups))
    chosen = np.argsort(-totals, kind="stable")[:NUM_COLORS]
    return [int(color) | 0xFF000000 for color in colors[by_count][first[chosen]]]
