"""Figures in words: counts, bytes, times and shares as the reader's language writes them."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

_MINUTE_S = 60
_HOUR_S = 3600


def locale() -> QLocale:
    """The reader's locale; where the system names none, English with its group separators."""
    chosen = QLocale()
    if chosen.language() is QLocale.Language.C:
        return QLocale(QLocale.Language.English, QLocale.Country.UnitedStates)
    return chosen


def count(number: int) -> str:
    """12,345"""
    return locale().toString(number)


def short_count(number: int) -> str:
    """12,345 in full; from ten million on 12.3 M."""
    if number < 10_000_000:
        return count(number)
    return QCoreApplication.translate("text", "{number} M").format(number=decimal(number / 1e6))


def decimal(number: float, digits: int = 1) -> str:
    """12,345.6"""
    return locale().toString(float(number), "f", digits)


def percent(share: float) -> str:
    """A share between 0 and 1: 87 %. Only all of it is 100 %, only nothing is 0 %."""
    rounded = round(share * 100)
    if 0 < share < 1:
        rounded = min(max(rounded, 1), 99)
    return QCoreApplication.translate("text", "{number} %").format(number=count(rounded))


def size(num_bytes: int) -> str:
    """Bytes in binary units: 1.4 GiB, 320 MiB, 0 bytes."""
    digits = 1 if num_bytes < 1024 or num_bytes >= 1024**3 else 0
    return locale().formattedDataSize(num_bytes, digits, QLocale.DataSizeFormat.DataSizeIecFormat)


def duration(seconds: float) -> str:
    """350 ms, 1.2 s, 42 s, 2 min 5 s, 3 h 10 min; less than half a millisecond is 0 ms."""
    if seconds < 0.9995:
        return QCoreApplication.translate("text", "{number} ms").format(
            number=count(round(seconds * 1000))
        )
    if seconds < 9.95:
        return QCoreApplication.translate("text", "{number} s").format(number=decimal(seconds))
    whole = round(seconds)
    if whole < _MINUTE_S:
        return QCoreApplication.translate("text", "{number} s").format(number=count(whole))
    if whole < _HOUR_S:
        minutes, rest = divmod(whole, _MINUTE_S)
        return QCoreApplication.translate("text", "{minutes} min {seconds} s").format(
            minutes=minutes, seconds=rest
        )
    hours, minutes = divmod(round(whole / _MINUTE_S), 60)
    return QCoreApplication.translate("text", "{hours} h {minutes} min").format(
        hours=count(hours), minutes=minutes
    )


def rate(per_second: float) -> str:
    """Tokens per second, without the unit: 7.4, 182, 12,400."""
    return decimal(per_second) if per_second < 99.95 else count(round(per_second))


def moment(unix_s: float) -> str:
    """A time of today as 14:05:09, an older one with its day."""
    when = QDateTime.fromSecsSinceEpoch(int(unix_s))
    if when.date() == QDateTime.currentDateTime().date():
        return locale().toString(when.time(), "HH:mm:ss")
    day = locale().toString(when.date(), QLocale.FormatType.ShortFormat)
    return f"{day} {locale().toString(when.time(), 'HH:mm')}"


def clock_time(unix_s: float) -> str:
    """14:05, on the reader's clock."""
    when = QDateTime.fromSecsSinceEpoch(int(unix_s))
    return locale().toString(when.time(), "HH:mm")
