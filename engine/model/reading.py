"""What the rows of a batch attend to: views of parts that several of them share, and their own
tails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.cache.part import View
from engine.cache.row import Row
from engine.model.common_tail import CommonTail
from engine.model.kv import PartStorage

Users = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedView:
    """Tokens [start, end) of a part, and the batch rows (indices) that attend to them.

    `position` is where their first token stands in those rows; its key is rotated for `position` -
    `shift`. A plain prefix stands where it was computed: its shift is 0.
    """

    storage: PartStorage
    start: int
    end: int
    rows: tuple[int, ...]
    position: int
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """Rows (indices) whose tails are read together: one, or those that have them in common."""

    rows: tuple[int, ...]
    common: CommonTail | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that attend to the same views: `rows` as they stand in `units`; indices of all."""

    rows: tuple[int, ...]
    units: tuple[int, ...]
    views: tuple[int, ...]


class Reading:
    """What a batch of rows attends to, the same in all layers of a kind: `shared` views of parts,
    and behind them the tails of `units`.

    Row i computes `counts[i]` tokens from position `starts[i]` on. With a `window`, a query sees
    no more than so many tokens, its own included. `masks` are shared by all layers of a pass.
    """

    __slots__ = (
        "counts",
        "groups",
        "masks",
        "readers",
        "shared",
        "simple",
        "starts",
        "units",
        "window",
    )

    def __init__(
        self,
        starts: Sequence[int],
        counts: Sequence[int],
        shared: Sequence[SharedView],
        units: Sequence[Unit],
        masks: dict[object, Any],
        window: int = 0,
    ) -> None:
        self.starts = starts
        self.counts = counts
        self.shared = shared
        self.units = units
        self.masks = masks
        self.window = window
        self.groups = _groups(shared, units)
        self.readers = [
            [g for g, group in enumerate(self.groups) if n in group.views]
            for n in range(len(shared))
        ]
        # Next tokens of rows, in order, that see the same, where it was computed, and one tail.
        self.simple = (
            len(self.groups) == len(units) == max(counts) == 1
            and ascend(units[0].rows)
            and bool(shared)
            and not any(view.shift for view in shared)
        )


def ascend(rows: Sequence[int]) -> bool:
    """Whether rows come in the order of the batch."""
    return list(rows) == sorted(rows)


def shared_views(rows: Sequence[Row], reach: int | None = None) -> list[SharedView]:
    """What these rows attend to in their parts: everything, or the last `reach` tokens before the
    next one of each.

    Tokens that several rows see are read once: where rows leave a part at different places, it is
    cut there.
    """
    seen: dict[int, dict[tuple[int, int], list[int]]] = {}
    views: dict[int, View] = {}
    for i, row in enumerate(rows):
        first = 0 if reach is None else row.num_computed - reach
        for view in row.hold.views:
            start = max(0, first - view.part.base)
            if start < view.num_tokens:
                views[view.part.serial] = view
                spans = seen.setdefault(view.part.serial, {})
                spans.setdefault((start, view.num_tokens), []).append(i)
    shared = []
    for serial, spans in seen.items():
        part = views[serial].part
        storage = part_storage(part.storage)
        for start, end, users in _cut(spans) if reach is None else _as_they_are(spans):
            position = part.base + start + views[serial].shift
            shared.append(SharedView(storage, start, end, users, position, views[serial].shift))
    return shared


def _cut(spans: Mapping[tuple[int, int], Sequence[int]]) -> Iterator[tuple[int, int, Users]]:
    """Spans that all begin at 0, cut where any of them ends."""
    start = 0
    for _, end in sorted(spans):
        users = sorted(i for (_, to), of in spans.items() if to >= end for i in of)
        yield start, end, tuple(users)
        start = end


def _as_they_are(
    spans: Mapping[tuple[int, int], Sequence[int]],
) -> Iterator[tuple[int, int, Users]]:
    """Windows begin at another token for every row: equal ones are read together."""
    for (start, end), users in spans.items():
        yield start, end, tuple(users)


def _groups(shared: Sequence[SharedView], units: Sequence[Unit]) -> list[Group]:
    """Units by the views that their rows attend to, so that what is done for all of them is done
    once."""
    views: dict[int, list[int]] = {}
    for n, view in enumerate(shared):
        for row in view.rows:
            views.setdefault(row, []).append(n)
    alike: dict[tuple[int, ...], list[int]] = {}
    for u, unit in enumerate(units):
        alike.setdefault(tuple(views.get(unit.rows[0], ())), []).append(u)
    return [
        Group(tuple(row for u in of for row in units[u].rows), tuple(of), of_group)
        for of_group, of in alike.items()
    ]


def part_storage(storage: object) -> PartStorage:
    """The storage of a part, of which the cache knows nothing. Raises TypeError."""
    if not isinstance(storage, PartStorage):
        raise TypeError("a private state cannot be attended over in rows")
    return storage
