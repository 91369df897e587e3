"""Sentences of the dashboard: who runs, who waits and for what, and why less was reused."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.gui import text
from app.gui.pages.dashboard_curves import Curves
from app.gui.tray.status import num_waiting
from app.hit_rate import Cause
from engine.config import AdmissionMode
from engine.snapshot import Capacity, Snapshot, Waits

translate = QCoreApplication.translate


def why_it_fell(curves: Curves) -> str:
    """What became of the hit rate lately; empty where it did not fall."""
    return sentence(curves.why_it_fell).format(
        before=text.percent(curves.earlier.hit_rate),
        after=text.percent(curves.lately.hit_rate),
        time=_round_time(curves.lately_s),
    )


def sentence(cause: Cause) -> str:
    """What to say of a cause; `before`, `after` and `time` are to be put in."""
    match cause:
        case Cause.NOTHING:
            return ""
        case Cause.PREEMPTION:
            return translate(
                "dashboard",
                "Hit rate {before} → {after} in the last {time}: requests had to make way as memory"
                " was short; it is not the prompts.",
            )
        case Cause.EVICTION:
            return translate(
                "dashboard",
                "Hit rate {before} → {after} in the last {time}: what was asked for again had been"
                " given up as memory was short; it is not the prompts.",
            )
        case Cause.START:
            return translate(
                "dashboard",
                "Hit rate {before} → {after} in the last {time}: a model was started, with nothing"
                " warm yet; what is asked for again will be.",
            )
        case Cause.NEW_PROMPTS:
            return translate(
                "dashboard",
                "Hit rate {before} → {after} in the last {time}: more was asked that had not been"
                " asked lately.",
            )


def capacity_words(capacity: Capacity) -> str:
    """How many answers at once, and why no more, if it is the memory; empty while no model
    runs."""
    number = capacity.max_running
    if number <= 0:
        return ""
    most = (
        translate("dashboard", "One answer at a time")
        if number == 1
        else translate("dashboard", "Up to {number} answers at once").format(
            number=text.count(number)
        )
    )
    if capacity.capped:
        reason = most
    elif capacity.reserve_bytes > 0:
        reason = translate("dashboard", "{most}: {size} stay for warm prefixes").format(
            most=most, size=text.size(capacity.reserve_bytes)
        )
    elif capacity.mode is AdmissionMode.MAX_THROUGHPUT:
        reason = translate("dashboard", "{most}: warm prefixes make way for them").format(most=most)
    else:
        reason = most
    return reason


def capacity_details(capacity: Capacity) -> str:
    """What the number is made of."""
    lines = []
    if capacity.mean_tokens >= 1:
        words = translate(
            "dashboard",
            "A request needs {tokens} tokens for itself, the mean of the latest ones: its answer,"
            " and what of its prompt was not warm.",
        )
        lines.append(words.format(tokens=text.count(round(capacity.mean_tokens))))
    words = translate(
        "dashboard",
        "Besides pinned ones and those in use, prefixes that were used again lately take {size}.",
    )
    lines.append(words.format(size=text.size(capacity.hot_bytes)))
    return "\n".join(lines)


def waiting_words(snapshot: Snapshot) -> str:
    """Who waits, and for what: a line for each."""
    waiting = num_waiting(snapshot)
    parked = min(snapshot.num_parked, waiting)
    groups = [(parked, *_for_parked()), (waiting - parked, *_words_for(snapshot.waits_for))]
    told = [
        one if number == 1 else several.format(number=text.count(number))
        for number, one, several in groups
        if number
    ]
    return "\n".join(told) or translate("dashboard", "Nobody waits")


def _for_parked() -> tuple[str, str]:
    return (
        translate("dashboard", "1 waits for the same beginning to be computed"),
        translate("dashboard", "{number} wait for the same beginning to be computed"),
    )


def _words_for(waits: Waits) -> tuple[str, str]:
    """For one that waits, and for several."""
    match waits:
        case Waits.TURN:
            return (
                translate("dashboard", "1 waits for its turn"),
                translate("dashboard", "{number} wait for their turn"),
            )
        case Waits.MEMORY:
            return (
                translate("dashboard", "1 waits for memory"),
                translate("dashboard", "{number} wait for memory"),
            )
        case Waits.ROWS:
            return (
                translate("dashboard", "1 waits for another answer to end"),
                translate("dashboard", "{number} wait for another answer to end"),
            )
        case Waits.PAUSE:
            return (
                translate("dashboard", "1 waits for the end of the pause"),
                translate("dashboard", "{number} wait for the end of the pause"),
            )


def _round_time(seconds: int) -> str:
    if seconds >= 3600:
        return translate("dashboard", "hour")
    return translate("dashboard", "{number} minutes").format(number=seconds // 60)
