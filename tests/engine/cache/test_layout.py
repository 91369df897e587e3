"""Layouts: which models allow a prefix of any length to be restored."""

from __future__ import annotations

import pytest

from engine.cache.layout import LayerKind, Layout

FULL = (LayerKind.FULL, "KVCache")
WINDOW = (LayerKind.SLIDING, "RotatingKVCache")
STATE = (LayerKind.RECURRENT, "ArraysCache")


@pytest.mark.parametrize(
    ("layers", "reusable", "text"),
    [
        ((FULL,) * 30, True, "30 full attention"),
        ((WINDOW, FULL, WINDOW), False, "2 sliding window, 1 full attention"),
        ((STATE, STATE, FULL), False, "2 recurrent, 1 full attention"),
        ((), False, ""),
    ],
)
def test_layout(layers: tuple[tuple[LayerKind, str], ...], reusable: bool, text: str) -> None:
    layout = Layout(layers)
    assert (layout.reusable, layout.describe()) == (reusable, text)


def test_the_order_of_the_layers_is_part_of_the_identity() -> None:
    one, other = Layout((FULL, WINDOW)), Layout((WINDOW, FULL))
    assert one.describe() != other.describe()
    assert one.identity() == "KVCache,RotatingKVCache" != other.identity()
