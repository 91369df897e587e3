"""Make Ondol.app: a bundle of a few small files that starts the Ondol in this folder's .venv."""

from __future__ import annotations

import argparse
import plistlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgRenderer

ROOT = Path(__file__).resolve().parents[2]
IDENTIFIER = "app.ondol.Ondol"

# An icns entry and the iconutil name of each picture, by its width in pixels. Pictures of 16 and 32
# points at double density serve single density too.
ICNS_TYPES = {
    32: ("ic11",),
    64: ("ic12",),
    128: ("ic07",),
    256: ("ic13", "ic08"),
    512: ("ic14", "ic09"),
    1024: ("ic10",),
}
ICONSET_NAMES = {
    16: ("16x16",),
    32: ("16x16@2x", "32x32"),
    64: ("32x32@2x",),
    128: ("128x128",),
    256: ("128x128@2x", "256x256"),
    512: ("256x256@2x", "512x512"),
    1024: ("512x512@2x",),
}
SMALL_PX = 32  # from here down the drawing made for small sizes is clearer
MARGIN = 100 / 1024  # macOS icons leave this much free on every side
DRAWING_MARGIN = 24 / 512  # and the large drawing has this much of its own


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build", help="folder for Ondol.app")
    parser.add_argument(
        "--ondol",
        type=Path,
        default=Path(sys.executable).with_name("ondol"),
        help="the command that the bundle starts",
    )
    options = parser.parse_args()
    print(make_app(options.output, options.ondol.absolute()))
    return 0


def make_app(output: Path, ondol: Path) -> Path:
    """Make or replace Ondol.app in `output`. A failure leaves an older one as it was."""
    output.mkdir(parents=True, exist_ok=True)
    bundle = output / "Ondol.app"
    with tempfile.TemporaryDirectory(dir=output, prefix=".Ondol-") as folder:
        made = Path(folder) / "Ondol.app"
        _fill(made, ondol)
        if bundle.exists():
            bundle.rename(Path(folder) / "old")
        made.rename(bundle)
    return bundle


def info_plist(ondol_version: str) -> dict[str, object]:
    """What macOS reads about the app before it starts it."""
    return {
        "CFBundleDevelopmentRegion": "en",
        "CFBundleDisplayName": "Ondol",
        "CFBundleExecutable": "Ondol",
        "CFBundleIconFile": "Ondol",
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleInfoDictionaryVersion": "6.0",
        # Without this list the system's own words in Ondol's menus would stay English.
        "CFBundleLocalizations": ["en", "ko"],
        "CFBundleName": "Ondol",
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": ondol_version,
        "CFBundleVersion": ondol_version,
        "LSApplicationCategoryType": "public.app-category.utilities",
        # The executable is a script: macOS would take it for an Intel program.
        "LSArchitecturePriority": ["arm64"],
        "LSMinimumSystemVersion": "14.0",
        "LSRequiresNativeExecution": True,
        "LSUIElement": True,
        "NSHighResolutionCapable": True,
    }


def icns(pictures: Mapping[int, bytes]) -> bytes:
    """An Apple icon of PNG pictures by width; widths that the format has no PNG entry for are left
    out."""
    entries = b"".join(
        kind.encode() + (8 + len(png)).to_bytes(4, "big") + png
        for width, png in sorted(pictures.items())
        for kind in ICNS_TYPES.get(width, ())
    )
    return b"icns" + (8 + len(entries)).to_bytes(4, "big") + entries


def _fill(bundle: Path, ondol: Path) -> None:
    contents = bundle / "Contents"
    executables, resources = contents / "MacOS", contents / "Resources"
    executables.mkdir(parents=True)
    resources.mkdir()
    with (contents / "Info.plist").open("wb") as file:
        plistlib.dump(info_plist(version("ondol")), file)
    template = Path(__file__).with_name("launcher.sh").read_text(encoding="utf-8")
    launcher = executables / "Ondol"
    launcher.write_text(template.replace("@ONDOL@", shlex.quote(str(ondol))), encoding="utf-8")
    launcher.chmod(0o755)
    _write_icon(resources / "Ondol.icns")


def _write_icon(path: Path) -> None:
    pictures = {width: _draw(width) for width in ICONSET_NAMES}
    iconutil = shutil.which("iconutil")
    if iconutil is None:
        path.write_bytes(icns(pictures))
        return
    with tempfile.TemporaryDirectory(suffix=".iconset") as folder:
        for width, names in ICONSET_NAMES.items():
            for name in names:
                (Path(folder) / f"icon_{name}.png").write_bytes(pictures[width])
        subprocess.run([iconutil, "-c", "icns", "-o", str(path), folder], check=True)


def _draw(width: int) -> bytes:
    """The app icon as a PNG of `width` pixels."""
    small = width <= SMALL_PX
    drawing = "app-icon-small.svg" if small else "app-icon.svg"
    renderer = QSvgRenderer(str(ROOT / "resources" / drawing))
    if not renderer.isValid():
        raise SystemExit(f"resources/{drawing} cannot be read.")
    inner = (1 - 2 * MARGIN) * width / (1 if small else 1 - 2 * DRAWING_MARGIN)
    image = QImage(width, width, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter, QRectF((width - inner) / 2, (width - inner) / 2, inner, inner))
    painter.end()
    png = QByteArray()
    buffer = QBuffer(png)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(png.data())


if __name__ == "__main__":
    sys.exit(main())
