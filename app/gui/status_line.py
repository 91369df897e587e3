"""The quiet line at the foot of the sidebar: which model, and how it does."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.gui import trouble
from app.gui.status import Shape, Status, describe
from app.gui.theme import SPACE, theme
from engine.snapshot import Snapshot

_SHAPE_SIZE = 14
_BREAK_HERE = "\N{ZERO WIDTH SPACE}"


class ShapeView(QWidget):
    """One shape in one colour; the words beside it say the same, so it has no name of its own."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shape = Shape.RING
        self._token = "secondary"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_shape(self, shape: Shape, token: str) -> None:
        if (shape, token) != (self._shape, self._token):
            self._shape, self._token = shape, token
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(_SHAPE_SIZE, _SHAPE_SIZE)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_shape(
                painter,
                QRectF(self.rect()).adjusted(1, 1, -1, -1),
                self._shape,
                theme.color(self._token),
            )


def paint_shape(painter: QPainter, box: QRectF, shape: Shape, color: QColor) -> None:
    """A state's shape, filling a square box."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    match shape:
        case Shape.DISC:
            painter.drawEllipse(box.adjusted(1, 1, -1, -1))
        case Shape.PLAY:
            painter.drawPolygon(_polygon(box, (0.15, 0.02), (0.95, 0.5), (0.15, 0.98)))
        case Shape.BARS:
            width = box.width() * 0.26
            painter.drawRect(QRectF(box.left() + width / 2, box.top(), width, box.height()))
            painter.drawRect(QRectF(box.right() - 1.5 * width, box.top(), width, box.height()))
        case Shape.FLAME:
            painter.drawPolygon(
                _polygon(
                    box,
                    (0.5, 0),
                    (0.85, 0.5),
                    (0.78, 0.85),
                    (0.5, 1),
                    (0.22, 0.85),
                    (0.15, 0.5),
                    (0.36, 0.42),
                )
            )
        case Shape.TRIANGLE:
            painter.drawPolygon(_polygon(box, (0.5, 0.02), (1, 0.95), (0, 0.95)))
        case Shape.OCTAGON:
            painter.drawPolygon(
                _polygon(
                    box,
                    (0.3, 0),
                    (0.7, 0),
                    (1, 0.3),
                    (1, 0.7),
                    (0.7, 1),
                    (0.3, 1),
                    (0, 0.7),
                    (0, 0.3),
                )
            )
        case Shape.RING | Shape.ARC:
            painter.setPen(QPen(color, 1.75, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            degrees = 360 if shape is Shape.RING else 270
            painter.drawArc(box.adjusted(1.5, 1.5, -1.5, -1.5), 90 * 16, -degrees * 16)


class StatusLine(QWidget):
    """The model's name over the state of the engine."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[str, Status, str] | None = None
        self._shape = ShapeView()
        self._model = _wrapping_label()
        self._words = _wrapping_label()
        self._words.setProperty("role", "secondary")
        state = QHBoxLayout()
        state.setSpacing(SPACE)
        state.addWidget(self._shape, alignment=Qt.AlignmentFlag.AlignTop)
        state.addWidget(self._words, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, SPACE, SPACE, 2 * SPACE)
        layout.setSpacing(SPACE // 2)
        layout.addWidget(self._model)
        layout.addLayout(state)

    @property
    def words(self) -> str:
        return self._words.text()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        status = describe(snapshot)
        shown = (snapshot.model_id, status, snapshot.reason)
        if shown == self._shown:
            return
        self._shown = shown
        self._shape.show_shape(status.shape, status.token)
        self._model.setText(_breakable(snapshot.model_id))
        self._model.setAccessibleName(snapshot.model_id)
        self._model.setVisible(bool(snapshot.model_id))
        self._words.setText(status.words)
        self._words.setToolTip(trouble.reason(snapshot))
        self.setAccessibleName(f"{snapshot.model_id}: {status.words}")


def _wrapping_label() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def _breakable(name: str) -> str:
    """A model's name may be longer than the sidebar is wide; it is wrapped at its joints."""
    for joint in "/-_.":
        name = name.replace(joint, joint + _BREAK_HERE)
    return name


def _polygon(box: QRectF, *corners: tuple[float, float]) -> QPolygonF:
    return QPolygonF(
        [QPointF(box.left() + x * box.width(), box.top() + y * box.height()) for x, y in corners]
    )
