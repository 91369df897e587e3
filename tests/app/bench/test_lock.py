"""One at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from app.bench.lock import is_busy, machine_lock


def test_a_second_one_says_that_it_waits_and_gets_its_turn(tmp_path: Path) -> None:
    path, waiting, order = tmp_path / "lock", threading.Event(), []

    def second() -> None:
        with machine_lock(path, waiting.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with machine_lock(path, pytest.fail):
        thread.start()
        assert waiting.wait(20)
        order.append("first")
    thread.join(20)
    assert order == ["first", "second"]


def test_nobody_waits_for_one_that_ended(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(ValueError, match="broken"), machine_lock(path, pytest.fail):
        raise ValueError("broken")
    with machine_lock(path, pytest.fail):
        assert path.exists()


@pytest.mark.parametrize(
    ("load", "cores", "busy"), [(0.4, 2, False), (0.6, 2, True), (1.9, 8, False), (2.1, 8, True)]
)
def test_a_quarter_of_the_machine_is_busy(load: float, cores: int, busy: bool) -> None:
    assert is_busy(load, cores) is busy
