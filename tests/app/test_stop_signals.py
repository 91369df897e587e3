"""The first signal is a wish, the second one an order, and a signal ignored by nohup is neither."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from app.stop_signals import interrupts_kill

STUCK = """
import socket, threading
from app.stop_signals import first_signal_wakes
reader, writer = socket.socketpair()
writer.setblocking(False)
with first_signal_wakes(writer.fileno()) as heard:
    print(" ".join(name.name for name in heard), flush=True)
    reader.recv(1)
    print("closing", flush=True)
    threading.Event().wait()
"""


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_second_signal_ends_what_is_stuck_at_once_without_a_trace(
    second: signal.Signals,
) -> None:
    process = start([sys.executable, "-c", STUCK])
    assert read_line(process) == "SIGINT SIGTERM SIGHUP"
    process.send_signal(signal.SIGTERM)
    assert read_line(process) == "closing"
    process.send_signal(second)
    _out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (-second, "")


def test_a_shell_says_143() -> None:
    process = start(["sh", "-c", f"{sys.executable} -c '{STUCK}' & echo $!; wait $!; echo $?"])
    pid = int(read_line(process))
    told = [read_line(process)]
    subprocess.run(["kill", str(pid)], check=True)
    told.append(read_line(process))
    subprocess.run(["kill", str(pid)], check=True)
    told.append(read_line(process))
    process.communicate(timeout=20)
    assert told[1:] == ["closing", "143"]


def test_nohup_is_respected() -> None:
    process = start(["sh", "-c", f"trap '' HUP; exec {sys.executable} -c '{STUCK}'"])
    assert read_line(process) == "SIGINT SIGTERM"
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert read_line(process) == "closing"
    process.kill()
    process.communicate(timeout=20)


def test_an_interrupt_before_anything_listens_leaves_no_trace() -> None:
    code = """
import app.__main__, threading
def starting(arguments):
    print("starting", flush=True)
    threading.Event().wait()
app.__main__._run = starting
app.__main__.main([])
"""
    process = start([sys.executable, "-c", code])
    assert read_line(process) == "starting"
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (-signal.SIGINT, "")


def test_afterwards_an_interrupt_is_what_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_kill():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is before is signal.default_int_handler
