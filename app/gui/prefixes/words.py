"""What the page says about prefixes, in one place."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.gui import text, trouble
from app.gui.prefixes.rows import PrefixRow
from app.prefixes import Price
from app.storage.content import TemplateKind
from engine.snapshot import PinState

UNKNOWN = "–"

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S

ICON_NAMES = {
    TemplateKind.SYSTEM_POLICY: "policy",
    TemplateKind.TOOL_SCHEMA: "tools",
    TemplateKind.DOCUMENT: "document",
    TemplateKind.HOUSE_INSTRUCTIONS: "house",
    TemplateKind.CHAT_HISTORY: "chat",
}


def kind(of: TemplateKind) -> str:
    return {
        TemplateKind.SYSTEM_POLICY: QCoreApplication.translate("prefixes", "System policy"),
        TemplateKind.TOOL_SCHEMA: QCoreApplication.translate("prefixes", "Tool schema"),
        TemplateKind.DOCUMENT: QCoreApplication.translate("prefixes", "Document"),
        TemplateKind.HOUSE_INSTRUCTIONS: QCoreApplication.translate(
            "prefixes", "House instructions"
        ),
        TemplateKind.CHAT_HISTORY: QCoreApplication.translate("prefixes", "Chat history"),
    }[of]


def kinds(of: TemplateKind) -> str:
    """Many of a kind."""
    return {
        TemplateKind.SYSTEM_POLICY: QCoreApplication.translate("prefixes", "System policies"),
        TemplateKind.TOOL_SCHEMA: QCoreApplication.translate("prefixes", "Tool schemas"),
        TemplateKind.DOCUMENT: QCoreApplication.translate("prefixes", "Documents"),
        TemplateKind.HOUSE_INSTRUCTIONS: QCoreApplication.translate(
            "prefixes", "House instructions"
        ),
        TemplateKind.CHAT_HISTORY: QCoreApplication.translate("prefixes", "Chat histories"),
    }[of]


def new(of: TemplateKind) -> str:
    """In the menu of what can be made."""
    return {
        TemplateKind.SYSTEM_POLICY: QCoreApplication.translate("prefixes", "System Policy…"),
        TemplateKind.TOOL_SCHEMA: QCoreApplication.translate("prefixes", "Tool Schema…"),
        TemplateKind.DOCUMENT: QCoreApplication.translate("prefixes", "Document…"),
        TemplateKind.HOUSE_INSTRUCTIONS: QCoreApplication.translate(
            "prefixes", "House Instructions…"
        ),
        TemplateKind.CHAT_HISTORY: QCoreApplication.translate("prefixes", "Chat History…"),
    }[of]


def number(value: int | None) -> str:
    return UNKNOWN if value is None else text.count(value)


def size(num_bytes: int | None) -> str:
    return UNKNOWN if num_bytes is None else text.size(num_bytes)


def state(row: PrefixRow) -> str:
    if row.deleted:
        return QCoreApplication.translate("prefixes", "Deleted")
    return _state(row.state, row.share_done)


def states() -> list[str]:
    """All there are, with the longest figures."""
    return [_state(state, 0.88) for state in PinState]


def _state(state: PinState, share_done: float) -> str:
    match state:
        case PinState.ABSENT:
            return QCoreApplication.translate("prefixes", "Not warm")
        case PinState.QUEUED:
            return QCoreApplication.translate("prefixes", "Queued")
        case PinState.BUILDING:
            return QCoreApplication.translate("prefixes", "Building {share}").format(
                share=text.percent(share_done)
            )
        case PinState.READY:
            return QCoreApplication.translate("prefixes", "Ready")
        case PinState.FAILED:
            return QCoreApplication.translate("prefixes", "Failed")


def state_explained(row: PrefixRow) -> str:
    """A sentence below the state; the reason where it failed."""
    if row.deleted:
        return QCoreApplication.translate(
            "prefixes", "It can be restored for 30 days after it was deleted."
        )
    match row.state:
        case PinState.ABSENT:
            return QCoreApplication.translate(
                "prefixes", "The first request that uses it computes it. Pin it to keep it warm."
            )
        case PinState.QUEUED:
            return QCoreApplication.translate("prefixes", "It is computed when its turn comes.")
        case PinState.BUILDING:
            return QCoreApplication.translate(
                "prefixes", "Requests go first; this is computed in between."
            )
        case PinState.READY if row.pinned:
            return QCoreApplication.translate("prefixes", "Pinned: it stays in memory.")
        case PinState.READY:
            return QCoreApplication.translate("prefixes", "It stays until memory is needed.")
        case PinState.FAILED:
            return trouble.refusal(row.trouble)


def pinned(row: PrefixRow) -> str:
    if row.pinned:
        return QCoreApplication.translate("prefixes", "Pinned")
    return QCoreApplication.translate("prefixes", "Not pinned")


def price(of: Price) -> str:
    return QCoreApplication.translate(
        "prefixes", "{tokens} tokens · {size} · {time} to compute"
    ).format(
        tokens=text.count(of.num_tokens),
        size=text.size(of.num_bytes),
        time=text.duration(of.seconds),
    )


def ago(unix_s: float | None, now: float) -> str:
    """How long ago something was, in as few words as a column has room for."""
    if unix_s is None:
        return UNKNOWN
    passed = now - unix_s
    if passed < _MINUTE_S:
        return QCoreApplication.translate("prefixes", "just now")
    if passed < _HOUR_S:
        return QCoreApplication.translate("prefixes", "{minutes} min ago").format(
            minutes=text.count(int(passed / _MINUTE_S))
        )
    if passed < _DAY_S:
        return QCoreApplication.translate("prefixes", "{hours} h ago").format(
            hours=text.count(int(passed / _HOUR_S))
        )
    return text.moment(unix_s)


def usage(row: PrefixRow, now: float) -> str:
    """How often it was hit since it became warm, and when last."""
    if row.hits == 0:
        return QCoreApplication.translate("prefixes", "Not yet since it became warm")
    times = (
        QCoreApplication.translate("prefixes", "Once")
        if row.hits == 1
        else QCoreApplication.translate("prefixes", "{hits} times").format(
            hits=text.count(row.hits)
        )
    )
    if row.last_used is None:
        return times
    return QCoreApplication.translate("prefixes", "{times}, last {moment}").format(
        times=times, moment=ago(row.last_used, now)
    )


def how_to_hit(row: PrefixRow) -> str:
    """What a client must send, in one sentence."""
    match row.kind:
        case TemplateKind.TOOL_SCHEMA if row.policy is not None:
            return QCoreApplication.translate(
                "prefixes",
                "Send these tools in this order, with “{policy}” as the system message,"
                " letter by letter.",
            ).format(policy=row.policy.name)
        case TemplateKind.TOOL_SCHEMA:
            return QCoreApplication.translate(
                "prefixes", "Send these tools in this order, and no system message."
            )
        case TemplateKind.CHAT_HISTORY:
            return QCoreApplication.translate(
                "prefixes", "Begin the conversation with these messages, letter by letter."
            )
        case _:
            return QCoreApplication.translate(
                "prefixes", "Send exactly this text as the system message, letter by letter."
            )


def file_dialog_title() -> str:
    return QCoreApplication.translate("prefixes", "Make prefixes of files")


def file_types() -> list[str]:
    """For a file dialog."""
    return [
        QCoreApplication.translate("prefixes", "Text and JSON (*.txt *.md *.json)"),
        QCoreApplication.translate("prefixes", "All files (*)"),
    ]
