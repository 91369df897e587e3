"""What is said on a terminal that has gone, or that knows fewer characters."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app.console import say


def test_nobody_reads_the_pipe_any_more() -> None:
    code = "from app.console import say\nimport sys\nsys.stdin.read()\nfor _ in range(9): say('x')"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _out, err = process.communicate("", timeout=20)
    assert (process.returncode, err) == (0, "")


def test_a_name_that_is_no_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    say(b"caf\xe9".decode("utf-8", "surrogateescape"))
    assert capsys.readouterr().out == "caf\\udce9\n"
