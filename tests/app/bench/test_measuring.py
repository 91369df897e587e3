"""The bench's end of a worker, with workers that cannot go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.bench.errors import BenchError
from app.bench.measuring import measure


def test_what_a_worker_cannot_do_is_told(tmp_path: Path) -> None:
    plan = {"cases": (), "rounds": 1}
    said: list[str] = []
    with pytest.raises(BenchError, match="There is no model folder named none"):
        measure("app.bench.flights_worker", tmp_path / "none", plan, tmp_path, {}, said.append)
    assert said == []


def test_one_that_ends_without_results_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"process ended: .*No module named app\.bench\.none"):
        measure("app.bench.none", tmp_path, {}, tmp_path, {}, lambda line: None)
