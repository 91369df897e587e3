"""How buttons, fields and scroll bars look where the system has no look of its own (not macOS)."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.gui.theme import Tokens

_RADIUS = 6


def controls_sheet(tokens: Tokens) -> str:
    """The part of the application's style sheet for controls.

    A push button may have the property role: "primary" for the one thing to do, "danger" for what
    cannot be undone. A text or a list with the role "field" looks like a line of text.
    """
    # The arrow's grey can be read on light and on dark ground.
    arrow = (files("resources") / "icons" / "combo-arrow.svg").as_posix()  # type: ignore[attr-defined]
    return f"""
        QPushButton, QComboBox, QLineEdit {{
            background: {tokens.field}; color: {tokens.text};
            border: 1px solid {tokens.border}; border-radius: {_RADIUS}px;
        }}
        QPlainTextEdit[role="field"], QTextEdit[role="field"], QListWidget[role="field"] {{
            background: {tokens.field}; color: {tokens.text}; padding: 4px;
            border: 1px solid {tokens.border}; border-radius: {_RADIUS}px;
            selection-background-color: {tokens.accent}; selection-color: {tokens.on_accent};
        }}
        QPlainTextEdit[role="field"]:focus, QTextEdit[role="field"]:focus,
        QListWidget[role="field"]:focus {{ border-color: {tokens.accent}; }}
        QListWidget[role="field"] {{ outline: none; }}
        QListWidget[role="field"]::item {{ padding: 6px 8px; border-radius: 4px; }}
        QListWidget[role="field"]::item:selected {{
            background: {tokens.accent}; color: {tokens.on_accent};
        }}
        QPushButton {{ padding: 5px 14px; }}
        QComboBox {{ padding: 4px 4px 4px 10px; }}
        QLineEdit {{ padding: 4px 8px; selection-background-color: {tokens.accent}; }}
        QPushButton:hover, QComboBox:hover {{ background: {tokens.grid}; }}
        QPushButton:pressed, QPushButton:checked {{ background: {tokens.border}; }}
        QPushButton:focus, QComboBox:focus, QLineEdit:focus {{ border-color: {tokens.accent}; }}
        QPushButton:disabled, QComboBox:disabled, QLineEdit:disabled {{
            color: {tokens.disabled}; background: transparent;
        }}
        QPushButton:default, QPushButton[role="primary"] {{
            background: {tokens.accent}; color: {tokens.on_accent}; border-color: {tokens.accent};
        }}
        QPushButton[role="primary"]:focus, QPushButton:default:focus {{
            border-color: {tokens.text};
        }}
        QPushButton[role="danger"] {{ color: {tokens.bad}; }}
        QPushButton:default:disabled, QPushButton[role="primary"]:disabled,
        QPushButton[role="danger"]:disabled {{
            background: transparent; color: {tokens.disabled}; border-color: {tokens.border};
        }}
        QComboBox::drop-down {{ border: none; width: 24px; }}
        QComboBox::down-arrow {{ image: url({arrow}); width: 12px; height: 12px; }}
        QComboBox QAbstractItemView {{
            background: {tokens.field}; border: 1px solid {tokens.border}; outline: none;
            selection-background-color: {tokens.accent}; selection-color: {tokens.on_accent};
        }}
        QSlider:horizontal {{ min-height: 24px; }}
        QSlider::groove:horizontal {{
            height: 4px; border-radius: 2px; background: {tokens.border};
        }}
        QSlider::sub-page:horizontal {{ background: {tokens.accent}; border-radius: 2px; }}
        QSlider::sub-page:horizontal:disabled {{ background: {tokens.disabled}; }}
        QSlider::handle:horizontal {{
            width: 16px; margin: -7px 0; border-radius: 9px; border: 1px solid {tokens.disabled};
            background: {tokens.secondary if tokens.dark else tokens.field};
        }}
        QSlider::handle:horizontal:focus {{ border-color: {tokens.accent}; }}
        QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
        QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 0; }}
        QScrollBar::handle {{ background: {tokens.border}; border-radius: 3px; margin: 3px; }}
        QScrollBar::handle:hover, QScrollBar::handle:pressed {{ background: {tokens.disabled}; }}
        QScrollBar::handle:disabled {{ background: transparent; }}
        QScrollBar::handle:vertical {{ min-height: 36px; }}
        QScrollBar::handle:horizontal {{ min-width: 36px; }}
        QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
        QScrollBar::add-page, QScrollBar::sub-page {{ background: none; }}
    """
