"""Typed reads from a JSON object. Null is the same as absent; a wrong type names its field."""

from __future__ import annotations

from collections.abc import Mapping

from app.server.errors import ApiError, bad_request


def wrong(param: str, expected: str) -> ApiError:
    """400 for a field that is not what it must be."""
    return bad_request("invalid_value", f"'{param}' must be {expected}.", param)


def unsupported(param: str, message: str) -> ApiError:
    """400 for a field that Ondol would otherwise have to ignore silently."""
    return bad_request("unsupported_parameter", message, param)


def read_bool(source: Mapping[str, object], name: str, param: str = "") -> bool:
    """False where it is absent. `param` is its full name, where that is longer."""
    value = source.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise wrong(param or name, "true or false")
    return value


def read_int(
    source: Mapping[str, object], name: str, low: int, high: int | None = None
) -> int | None:
    """An integer within [low, high]; JSON's 16.0 is not one."""
    value = source.get(name)
    if value is None:
        return None
    allowed = f"an integer of at least {low}" if high is None else f"an integer in {low}..{high}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(name, allowed)
    if value < low or (high is not None and value > high):
        raise wrong(name, allowed)
    return value


def read_number(
    source: Mapping[str, object], name: str, low: float, high: float, default: float
) -> float:
    """A number within [low, high]."""
    value = source.get(name)
    if value is None:
        return default
    allowed = f"a number in {low:g}..{high:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(name, allowed)
    if not low <= value <= high:
        raise wrong(name, allowed)
    return float(value)


def read_seconds(source: Mapping[str, object], name: str, high: float) -> float | None:
    """A number of seconds above 0, up to `high`; None where there is none."""
    value = source.get(name)
    if value is None:
        return None
    allowed = f"a number of seconds above 0, up to {high:g}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= high:
        raise wrong(name, allowed)
    return float(value)


def read_text(source: Mapping[str, object], name: str, param: str, limit: int) -> str | None:
    """A string of at most `limit` characters; `param` is its full name."""
    value = source.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > limit:
        raise wrong(param, f"a string of at most {limit} characters")
    return value


def read_object(source: Mapping[str, object], name: str) -> dict[str, object]:
    value = source.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong(name, "an object")
    return value


def read_list(source: Mapping[str, object], name: str, limit: int) -> list[object]:
    value = source.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong(name, "an array")
    if len(value) > limit:
        raise wrong(name, f"an array of at most {limit} items")
    return value
