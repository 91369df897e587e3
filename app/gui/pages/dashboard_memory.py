"""The dashboard's card of memory: who has how much, how many may run, and who waits for what."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.gui import text
from app.gui.charts.legend import Legend
from app.gui.charts.memory_bar import MemoryBar, Share
from app.gui.charts.style import Fill, SeriesStyle
from app.gui.pages.dashboard_cards import Card
from app.gui.pages.dashboard_words import capacity_details, capacity_words, waiting_words
from app.gui.theme import SPACE, axis_font
from engine.snapshot import Snapshot

_PROTECTED = 1  # its place among the shares

translate = QCoreApplication.translate


class MemoryCard(Card):
    """The budget of KV. Of what is resident, the part that answers may not push out is told
    apart."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Memory"))
        self._styles = (
            SeriesStyle(translate("dashboard", "Pinned"), "reused", _bytes, fill=Fill.SOLID),
            SeriesStyle(translate("dashboard", "Protected"), "reused", _bytes, fill=Fill.HATCHED),
            SeriesStyle(translate("dashboard", "Resident"), "reused", _bytes, fill=Fill.PLAIN),
            SeriesStyle(translate("dashboard", "Running"), "third", _bytes, fill=Fill.HATCHED),
            SeriesStyle(translate("dashboard", "Free"), "border", _bytes, fill=Fill.BARE),
        )
        self.bar = MemoryBar(translate("dashboard", "Memory"))
        self._entries = [_Entry(style, self) for style in self._styles]
        self._legend = QGridLayout()
        self._legend.setHorizontalSpacing(3 * SPACE)
        self._legend.setVerticalSpacing(SPACE // 4)
        self._num_shown = 0
        self.capacity = QLabel()
        self.waiting = QLabel()
        self.add(self.bar)
        self._content.addLayout(self._legend)
        self.bar.setToolTip(
            translate(
                "dashboard",
                "Pinned: never given up. Protected: used again lately, so a further answer does not"
                " start at their cost. Resident: may be given up. Running: the answers being"
                " written.",
            )
        )
        lines = QVBoxLayout()
        lines.setSpacing(SPACE // 4)
        for words in (self.capacity, self.waiting):
            words.setWordWrap(True)
            words.setFont(axis_font(self.font()))
            lines.addWidget(words)
        self._content.addLayout(lines)
        self._content.addStretch(1)
        self.waiting.setProperty("role", "secondary")

    def show_snapshot(self, snapshot: Snapshot) -> None:
        memory = snapshot.memory
        others = max(0, memory.resident - memory.pinned)
        protected = min(snapshot.capacity.reserve_bytes, others)
        free = max(0, memory.free)
        amounts = (memory.pinned, protected, others - protected, memory.running, free)
        shares = [Share(style, amount) for style, amount in zip(self._styles, amounts, strict=True)]
        if not protected:
            del shares[_PROTECTED]
        self.bar.show_shares(shares, memory.budget)
        self._show_entries(amounts)
        used = translate("dashboard", "{used} of {budget}")
        self.say(
            used.format(used=text.size(memory.used), budget=text.size(memory.budget))
            if memory.budget
            else "",
            translate("dashboard", "Computed prompts that stay in memory, within the budget"),
        )
        self._say_line(self.capacity, capacity_words(snapshot.capacity))
        self.capacity.setToolTip(capacity_details(snapshot.capacity))
        self._say_line(self.waiting, waiting_words(snapshot) if memory.budget else "")

    def _show_entries(self, amounts: tuple[int, ...]) -> None:
        """Two beside each other. Protected has its place only where something is."""
        shown = [
            entry
            for number, entry in enumerate(self._entries)
            if amounts[number] or number != _PROTECTED
        ]
        for entry, amount in zip(self._entries, amounts, strict=True):
            entry.say(amount)
            entry.setVisible(entry in shown)
        if len(shown) != self._num_shown:
            self._num_shown = len(shown)
            for number, entry in enumerate(shown):
                self._legend.addWidget(entry, number // 2, number % 2)

    @staticmethod
    def _say_line(label: QLabel, words: str) -> None:
        if words != label.text():
            label.setText(words)
        label.setVisible(bool(words))


class _Entry(QWidget):
    """A share's shape, its name and its size."""

    def __init__(self, style: SeriesStyle, parent: QWidget) -> None:
        super().__init__(parent)
        self._name = style.name
        self._words = QLabel()
        self._words.setFont(axis_font(self.font()))
        self._words.setProperty("role", "secondary")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(Legend((style,), named=False))
        layout.addWidget(self._words)
        layout.addStretch(1)

    def say(self, amount: int) -> None:
        line = translate("dashboard", "{name} {size}")
        self._words.setText(line.format(name=self._name, size=text.size(amount)))


def _bytes(number: float) -> str:
    return text.size(round(number))
