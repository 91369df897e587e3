"""What the kinds of a model's layers allow, and how they are told."""

from __future__ import annotations

import pytest

from engine.cache.layout import Layer, LayerKind, Layout

FULL = Layer(LayerKind.FULL, "KVCache")
WINDOW = Layer(LayerKind.SLIDING, "RotatingKVCache", 512)
WIDE = Layer(LayerKind.SLIDING, "RotatingKVCache", 4096)
STATE = Layer(LayerKind.RECURRENT, "ArraysCache")
BOTH = Layer(LayerKind.COMPOSITE, "CacheList", inner=(STATE, FULL))
CHUNKED = Layer(LayerKind.OTHER, "ChunkedKVCache")


@pytest.mark.parametrize(
    ("layers", "reusable", "windows", "recurrent", "text"),
    [
        ((FULL,) * 30, True, (), False, "30 full attention"),
        ((FULL, WINDOW, WINDOW), True, (512,), False, "1 full attention, 2 sliding window"),
        ((WIDE, WINDOW), True, (512, 4096), False, "2 sliding window"),
        ((STATE, STATE, FULL), True, (), True, "2 recurrent, 1 full attention"),
        ((BOTH, BOTH), True, (), True, "2 recurrent with full attention"),
        ((FULL, CHUNKED), False, (), False, "1 full attention, 1 other"),
        ((), False, (), False, ""),
    ],
)
def test_layout(
    layers: tuple[Layer, ...], reusable: bool, windows: tuple[int, ...], recurrent: bool, text: str
) -> None:
    layout = Layout(layers)
    assert (layout.reusable, layout.describe()) == (reusable, text)
    assert (layout.windows, layout.recurrent) == (windows, recurrent)


def test_composites_are_taken_apart_in_order() -> None:
    assert Layout((BOTH, WINDOW)).leaves == (STATE, FULL, WINDOW)


def test_the_obstacle_names_the_cache_class() -> None:
    assert Layout((FULL, CHUNKED)).obstacle == "its layers keep their past in ChunkedKVCache"
    assert Layout((FULL, STATE)).obstacle == ""


def test_identity_tells_order_windows_and_composition() -> None:
    layouts = [
        Layout((FULL, WINDOW)),
        Layout((WINDOW, FULL)),
        Layout((FULL, WIDE)),
        Layout((BOTH,)),
        Layout((STATE, FULL)),
    ]
    assert len({layout.identity() for layout in layouts}) == len(layouts)
