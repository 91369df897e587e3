"""One Ondol per data folder, whatever way the other one ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.instance import Holder, Instance, InstanceHeld, find_holder

HOLD = """
import sys
from pathlib import Path
from app.instance import Instance
instance = Instance(Path(sys.argv[1]))
instance.acquire()
instance.announce("127.0.0.1", 8642)
print("held", flush=True)
sys.stdin.read()
"""


def hold_in_another_process(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_instance_learns_who_has_the_folder(tmp_path: Path) -> None:
    with Instance(tmp_path) as first:
        first.announce("::1", 8642)
        with pytest.raises(InstanceHeld) as caught:
            Instance(tmp_path).acquire()
        assert caught.value.holder == Holder(os.getpid(), "::1", 8642)
        assert f"process {os.getpid()}, http://[::1]:8642" in str(caught.value)
        assert find_holder(tmp_path) == Holder(os.getpid(), "::1", 8642)
    assert find_holder(tmp_path) is None
    with Instance(tmp_path):
        pass


def test_before_it_listens_the_first_is_just_starting(tmp_path: Path) -> None:
    (tmp_path / "instance.json").write_text('{"pid": 1, "host": "127.0.0.1", "port": 1}')
    with Instance(tmp_path), pytest.raises(InstanceHeld, match="just starting") as caught:
        Instance(tmp_path).acquire()
    assert caught.value.holder is None


@pytest.mark.parametrize("note", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_broken_note_does_no_harm(tmp_path: Path, note: str) -> None:
    with Instance(tmp_path):
        (tmp_path / "instance.json").write_text(note)
        with pytest.raises(InstanceHeld, match="just starting"):
            Instance(tmp_path).acquire()


def test_a_process_that_is_killed_leaves_nothing_locked(tmp_path: Path) -> None:
    other = hold_in_another_process(tmp_path)
    with pytest.raises(InstanceHeld) as caught:
        Instance(tmp_path).acquire()
    assert caught.value.holder == Holder(other.pid, "127.0.0.1", 8642)
    with other:
        other.kill()
    assert (tmp_path / "instance.json").exists()
    assert find_holder(tmp_path) is None
    with Instance(tmp_path):
        assert not (tmp_path / "instance.json").exists()


def test_the_note_is_replaced_whole(tmp_path: Path) -> None:
    with Instance(tmp_path) as instance:
        instance.announce("127.0.0.1", 1)
        instance.announce("127.0.0.1", 2)
        assert instance.read_note() == Holder(os.getpid(), "127.0.0.1", 2)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["instance.json", "ondol.lock"]


def test_release_twice_and_acquire_again(tmp_path: Path) -> None:
    instance = Instance(tmp_path)
    instance.release()
    instance.acquire()
    instance.release()
    instance.release()
    instance.acquire()
    instance.release()


def test_no_data_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Instance(tmp_path / "missing").acquire()
    assert find_holder(tmp_path / "missing") is None
