"""What the reports of all benches have in common, for people and for programs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.bench import memory
from app.bench.conditions import Conditions, Surroundings
from app.bench.memory import Peak
from app.console import say

Groups = Sequence[tuple[str, Sequence[str]]]

_GAP = "  "


def present(
    text: str, data: Mapping[str, Any], json_file: Path | None, peaks: Sequence[Peak] = ()
) -> None:
    """Print a report and what its processes took of memory, and write its data where somebody
    wants it. Raises OSError."""
    say("")
    say(text)
    if peaks:
        say("")
        say("\n".join(memory.lines(peaks)))
    if json_file is not None:
        write_whole({**data, "memory": memory.to_json(peaks)}, json_file)


def write_whole(data: Mapping[str, Any], path: Path) -> None:
    """Write JSON whole or not at all. Raises OSError."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def describe(conditions: Conditions) -> list[str]:
    """Lines that say on what a run was made."""
    device = conditions.device
    blas = f"{device['blas']}, threads: {device['blas_threads']}" if device["blas"] else "none"
    return [
        f"model     {conditions.model}, {conditions.dtype}",
        f"device    {device['kind']}: {device['name']}, cores: {conditions.cores}, "
        f"load before: {conditions.load_before:.2f}",
        f"BLAS      {blas} (the same on both sides)",
        *software(conditions),
        *(f"warning   {warning}" for warning in device["warnings"]),
    ]


def software(surroundings: Surroundings) -> list[str]:
    """Lines that say with which versions, and on which system."""
    versions = ", ".join(f"{name} {version}" for name, version in surroundings.versions.items())
    return [f"versions  {versions}", f"          on {surroundings.platform}"]


def table(groups: Groups, rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose columns stand in titled groups, every cell at its column's right. A
    line of dashes stands for no rows."""
    names = [name for _, columns in groups for name in columns]
    rows = rows or [["-"] * len(names)]
    widths = [max(len(name), *(len(row[at]) for row in rows)) for at, name in enumerate(names)]
    titles, at = [], 0
    for title, columns in groups:
        last = at + len(columns) - 1
        text = f" {title} " if len(columns) > 1 else title
        width = sum(widths[at : last + 1]) + len(_GAP) * (last - at)
        widths[last] += max(0, len(text) - width)
        width = max(width, len(text))
        titles.append(text.center(width, "-") if len(columns) > 1 else text.rjust(width))
        at = last + 1
    return [_GAP.join(titles), *(_aligned(row, widths) for row in (names, *rows))]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def ms(seconds: float) -> str:
    """For a table: milliseconds without a fraction."""
    return f"{1000 * seconds:,.0f}"
