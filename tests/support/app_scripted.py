"""`ondol` around a scripted engine as a process: `python -m` with its options.

With `--nobody-reads` every dialog is closed as soon as it is open, as nobody is there to do it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QDialog, QWidget

import app.home
from app.__main__ import main
from app.gui.dialogs import Shelf
from tests.support.scripted_engine import make_scripted_engine

_NOBODY_READS = "--nobody-reads"


def _close_at_once() -> None:
    show = Shelf.show

    def show_and_close(shelf: Shelf, kind: str, make: Callable[[QWidget | None], QDialog]) -> None:
        show(shelf, kind, make)
        QTimer.singleShot(0, shelf.close_all)

    Shelf.show = show_and_close  # type: ignore[method-assign]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    app.home.product_engine = make_scripted_engine  # type: ignore[assignment]
    if _NOBODY_READS in arguments:
        arguments.remove(_NOBODY_READS)
        _close_at_once()
    sys.exit(main(arguments))
