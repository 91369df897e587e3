"""Asks which policy a tool schema is sent with."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from app.desk import Desk
from app.gui.prefixes.captions import caption
from app.gui.prefixes.price_line import PriceLine, Question
from app.gui.prefixes.rows import AS_SYSTEM_MESSAGE, PrefixRow
from app.gui.theme import SPACE
from app.storage.content import TemplateKind

_WIDTH_PX = 460


def policies_among(rows: Sequence[PrefixRow]) -> list[PrefixRow]:
    """What tools may be sent with."""
    return [row for row in rows if row.kind in AS_SYSTEM_MESSAGE and not row.deleted]


def likely_policy(tools: PrefixRow, policies: Sequence[PrefixRow]) -> int | None:
    """The one it is pinned with; else the only pinned policy."""
    if tools.pin is not None:
        return tools.pin.with_template_id
    pinned = [row.id for row in policies if row.pinned and row.kind is TemplateKind.SYSTEM_POLICY]
    return pinned[0] if len(pinned) == 1 else None


class TogetherSheet(QDialog):
    """chosen(object)   the policy's id, or None for no system message"""

    chosen = Signal(object)

    def __init__(
        self,
        desk: Desk,
        tools: Sequence[PrefixRow],
        policies: Sequence[PrefixRow],
        verb: str,
        parent: QWidget | None = None,
    ) -> None:
        """`verb` is what will be done with the tool schemas, such as Pin."""
        super().__init__(parent)
        self._tools = tools
        self._policies = {row.id: row for row in policies}
        self.setWindowTitle(verb)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(_WIDTH_PX)

        reason = QLabel(
            self.tr(
                "A request that sends tools begins with its system policy, so both are kept warm"
                " together: choose the policy that clients send with these tools."
            )
        )
        reason.setWordWrap(True)
        self.choice = QComboBox()
        self.choice.addItem(self.tr("No system policy"), None)
        for row in policies:
            self.choice.addItem(row.name, row.id)
        self.choice.setCurrentIndex(max(0, self.choice.findData(likely_policy(tools[0], policies))))
        self._price = PriceLine(desk)
        # From the start: nothing may jump when the price arrives.
        self._price.setMinimumHeight(self._price.fontMetrics().lineSpacing())
        fields = QGridLayout()
        fields.setHorizontalSpacing(2 * SPACE)
        fields.setVerticalSpacing(SPACE)
        fields.setColumnStretch(1, 1)
        fields.addWidget(caption(self.tr("&Together with"), self.choice), 0, 0)
        fields.addWidget(self.choice, 0, 1)
        if len(tools) == 1:
            fields.addWidget(self._price, 1, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        go = buttons.addButton(verb, QDialogButtonBox.ButtonRole.AcceptRole)
        go.setDefault(True)
        buttons.accepted.connect(self._choose)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE)
        layout.setSpacing(2 * SPACE)
        layout.addWidget(reason)
        layout.addLayout(fields)
        layout.addStretch(1)
        layout.addWidget(buttons)
        if len(tools) == 1:
            self.choice.currentIndexChanged.connect(self._count)
            self._count()

    def done(self, result: int) -> None:
        self._price.stop()
        super().done(result)

    def _choose(self) -> None:
        self.chosen.emit(self.choice.currentData())
        self.accept()

    def _count(self) -> None:
        self._price.ask(self._question)

    def _question(self) -> Question:
        policy = self._policies.get(self.choice.currentData())
        tools = self._tools[0].template
        return tools.kind, tools.latest.content, policy.template.latest.content if policy else None
