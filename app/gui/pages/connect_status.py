"""Whether a client has found Ondol: waiting for the first request, or who asked last."""

from __future__ import annotations

import time

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.gui import text
from app.gui.requests import words
from app.gui.theme import SPACE, strong_font, theme
from engine.request import RequestRecord

JUST_NOW_S = 60.0

_MARK_SIZE = 36


class ConnectionStatus(QFrame):
    """Waits, until `show_record` tells of a request."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._record: RequestRecord | None = None
        self.setProperty("role", "card")
        self._mark = _Mark()
        self.heading = QLabel()
        font = strong_font(self.heading.font())
        font.setPointSizeF(font.pointSizeF() * 1.25)
        self.heading.setFont(font)
        self.heading.setWordWrap(True)
        self.sentence = QLabel()
        self.sentence.setProperty("role", "secondary")
        self.sentence.setWordWrap(True)
        column = QVBoxLayout()
        column.setSpacing(SPACE // 2)
        column.addWidget(self.heading)
        column.addWidget(self.sentence)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(2 * SPACE)
        layout.addWidget(self._mark)
        layout.addLayout(column, 1)
        self.refresh()

    @property
    def is_connected(self) -> bool:
        return self._record is not None

    def show_record(self, record: RequestRecord) -> None:
        """Tell of this request, unless a later one is known."""
        if self._record is None or record.ended_at >= self._record.ended_at:
            self._record = record
            self.refresh()

    def refresh(self) -> None:
        """Find the words again: "just now" does not last."""
        heading, sentence = self._words()
        if heading != self.heading.text():
            self.heading.setText(heading)
            self.setAccessibleName(heading)
        self.sentence.setText(sentence)
        self._mark.set_connected(self.is_connected)

    def _words(self) -> tuple[str, str]:
        record = self._record
        if record is None:
            return (
                self.tr("Waiting for your first request"),
                self.tr("Set up any client below and ask it something. It shows here at once."),
            )
        client = words.client_name(record)
        if time.time() - record.ended_at < JUST_NOW_S:
            heading = self.tr("Connected: {client} just asked").format(client=client)
        else:
            heading = self.tr("Connected: {client} asked at {time}").format(
                client=client, time=text.moment(record.ended_at)
            )
        return heading, self._figures(record)

    def _figures(self, record: RequestRecord) -> str:
        usage = record.usage
        prompt = self.tr("{tokens} prompt tokens, {cached} of them reused.").format(
            tokens=text.count(usage.prompt_tokens), cached=text.count(usage.cached_tokens)
        )
        if record.timings.ttft_s <= 0:
            return prompt
        first = self.tr("The first word came after {time}.").format(
            time=text.duration(record.timings.ttft_s)
        )
        return f"{prompt} {first}"


class _Mark(QWidget):
    """A dashed ring while waiting, a filled one with a tick once connected."""

    def __init__(self) -> None:
        super().__init__()
        self._connected = False
        self.setFixedSize(_MARK_SIZE, _MARK_SIZE)
        theme.changed.connect(self.update)

    def set_connected(self, connected: bool) -> None:
        if connected != self._connected:
            self._connected = connected
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ring = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        if not self._connected:
            pen = QPen(theme.color("secondary"), 2)
            pen.setDashPattern([2.5, 3])
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            painter.drawEllipse(ring)
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("good"))
        painter.drawEllipse(ring)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(
            QPen(
                theme.color("card"), 2.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap,
                Qt.PenJoinStyle.RoundJoin,
            )
        )  # fmt: skip
        painter.drawPolyline(QPolygonF([QPointF(11, 18.5), QPointF(16, 23.5), QPointF(25.5, 13)]))
