from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import IO

from app.storage.store import Store
from tests.app.storage.committer import text_of

KILLS = 50
LONGEST_LIFE_S = 0.05
NURSERY = Path(__file__).with_name("committer.py")


def live_and_die(nursery: subprocess.Popen[str], folder: Path, life_s: float) -> int:
    """Kill a child that has committed for about `life_s`; the last number it printed comes back."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(f"{folder}\n")
    nursery.stdin.flush()
    child = int(nursery.stdout.readline())
    # Nothing is waited for: that the moment is a random one is the point.
    threading.Event().wait(life_s)
    os.kill(child, signal.SIGKILL)
    return max(numbers_until_death(nursery.stdout), default=0)


def numbers_until_death(lines: IO[str]) -> list[int]:
    return [int(line) for line in iter(lines.readline, "dead\n")]


def test_no_committed_version_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    dice = random.Random(17)
    seen = lives = 0
    program = [sys.executable, str(NURSERY)]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:
        for _ in range(KILLS):
            committed = live_and_die(nursery, tmp_path, dice.uniform(0.0, LONGEST_LIFE_S))
            seen = max(seen, committed)
            lives += committed > 0
            store = Store(tmp_path)
            store.open().result(10.0)
            versions = store.template_versions(1).result(10.0)
            store.close()
            assert len(versions) >= seen
            assert [version.number for version in versions] == list(range(1, len(versions) + 1))
            assert [version.text for version in versions[-20:]] == [
                text_of(version.number) for version in versions[-20:]
            ]
            with closing(sqlite3.connect(store.path)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert lives > KILLS / 2
