"""Colours, spaces and type, in one place. Views name tokens, never colours."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

from app.gui.controls import controls_sheet
from app.storage.settings_store import Appearance

SPACE = 8  # every distance is a multiple of it
RADIUS = 10


@dataclass(frozen=True, slots=True)
class Tokens:
    """One scheme's colours (hex). The four series colours stay apart for colour-blind people
    (blue, orange, bluish green and pink of the Okabe-Ito set, lightened on dark ground)."""

    dark: bool
    window: str
    sidebar: str
    card: str
    field: str
    border: str
    text: str
    secondary: str
    disabled: str
    accent: str
    on_accent: str
    good: str
    warning: str
    bad: str
    grid: str
    reused: str
    computed: str
    third: str
    fourth: str


LIGHT = Tokens(
    dark=False,
    window="#f5f5f7",
    sidebar="#ececef",
    card="#ffffff",
    field="#ffffff",
    border="#dcdce1",
    text="#1d1d1f",
    secondary="#6b6b72",
    disabled="#b3b3ba",
    accent="#c2410c",
    on_accent="#ffffff",
    good="#1a7f4e",
    warning="#9a6700",
    bad="#c62828",
    grid="#ececf0",
    reused="#0072b2",
    computed="#d55e00",
    third="#009e73",
    fourth="#b4588f",
)
DARK = Tokens(
    dark=True,
    window="#1c1c1f",
    sidebar="#232327",
    card="#2a2a2f",
    field="#323238",
    border="#3d3d44",
    text="#f2f2f4",
    secondary="#a2a2ab",
    disabled="#6a6a73",
    accent="#fb923c",
    on_accent="#1c1c1f",
    good="#4fc68a",
    warning="#e0b341",
    bad="#ff7b72",
    grid="#36363c",
    reused="#56b4e9",
    computed="#f0894a",
    third="#3ccfa0",
    fourth="#e39bc6",
)


class Theme(QObject):
    """The theme in force. Widgets that paint for themselves read `tokens` and repaint on
    `changed`; all others follow the application's palette."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.tokens = LIGHT

    def apply(self, app: QApplication, appearance: Appearance, *, system_is_dark: bool) -> None:
        """Put the scheme into force. The caller knows the system's: platforms differ in how they
        tell."""
        dark = appearance is Appearance.DARK or (appearance is Appearance.SYSTEM and system_is_dark)
        self.tokens = DARK if dark else LIGHT
        app.setPalette(palette(self.tokens))
        app.setStyleSheet(style_sheet(self.tokens))
        self.changed.emit()

    def color(self, name: str) -> QColor:
        """A token as a colour."""
        return QColor(getattr(self.tokens, name))


def palette(tokens: Tokens) -> QPalette:
    """The application's palette, for Fusion and for native styles alike."""
    colors = QPalette()
    roles = {
        QPalette.ColorRole.Window: tokens.window,
        QPalette.ColorRole.WindowText: tokens.text,
        QPalette.ColorRole.Base: tokens.field,
        QPalette.ColorRole.AlternateBase: tokens.window,
        QPalette.ColorRole.Text: tokens.text,
        QPalette.ColorRole.Button: tokens.card,
        QPalette.ColorRole.ButtonText: tokens.text,
        QPalette.ColorRole.PlaceholderText: tokens.secondary,
        QPalette.ColorRole.ToolTipBase: tokens.card,
        QPalette.ColorRole.ToolTipText: tokens.text,
        QPalette.ColorRole.Highlight: tokens.accent,
        QPalette.ColorRole.HighlightedText: tokens.on_accent,
        QPalette.ColorRole.Link: tokens.accent,
        QPalette.ColorRole.Mid: tokens.border,
        QPalette.ColorRole.Accent: tokens.accent,
    }
    for role, color in roles.items():
        colors.setColor(role, QColor(color))
    for role in (
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.Text,
        QPalette.ColorRole.ButtonText,
    ):
        colors.setColor(QPalette.ColorGroup.Disabled, role, QColor(tokens.disabled))
    return colors


def style_sheet(tokens: Tokens) -> str:
    """Only what a palette cannot say: cards, the sidebar, roles of text."""
    return f"""
        QFrame[role="card"] {{
            background: {tokens.card}; border: 1px solid {tokens.border};
            border-radius: {RADIUS}px;
        }}
        QFrame[role="sidebar"] {{
            background: {tokens.sidebar}; border: none; border-right: 1px solid {tokens.border};
        }}
        QListView[role="navigation"] {{
            background: transparent; border: none; outline: none;
        }}
        QPlainTextEdit[role="code"] {{
            background: {tokens.window}; color: {tokens.text}; border: none; border-radius: 6px;
        }}
        QLabel[role="secondary"] {{ color: {tokens.secondary}; }}
        QLabel[role="good"] {{ color: {tokens.good}; }}
        QLabel[role="warning"] {{ color: {tokens.warning}; }}
        QLabel[role="bad"] {{ color: {tokens.bad}; }}
        {"" if sys.platform == "darwin" else controls_sheet(tokens)}
    """


def title_font(base: QFont) -> QFont:
    """For a page's heading."""
    font = QFont(base)
    font.setPointSizeF(base.pointSizeF() * 1.6)
    font.setWeight(QFont.Weight.DemiBold)
    return font


def figure_font(base: QFont) -> QFont:
    """For the one large number on a card; digits of equal width, so that it does not jump."""
    font = QFont(base)
    font.setPointSizeF(base.pointSizeF() * 1.8)
    font.setWeight(QFont.Weight.DemiBold)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def strong_font(base: QFont) -> QFont:
    """For a card's name."""
    font = QFont(base)
    font.setWeight(QFont.Weight.DemiBold)
    return font


def axis_font(base: QFont) -> QFont:
    """For the small words along a chart, with digits of equal width."""
    font = QFont(base)
    font.setPointSizeF(base.pointSizeF() * 0.86)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


theme = Theme()
