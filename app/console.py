"""What Ondol says on a terminal: answers on stdout, complaints on stderr, each at once."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO


def say(text: str) -> None:
    """One line for a person or a script that waits for it."""
    _write(sys.stdout, text)


def complain(text: str) -> None:
    """One line about what went wrong."""
    _write(sys.stderr, f"ondol: {text}")


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(_writable(line, stream) + "\n")
        stream.flush()
    except OSError:
        # The terminal or the reader of the pipe has gone, which is no reason to fail. What waits in
        # the buffer would be written again at exit.
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _writable(line: str, stream: TextIO) -> str:
    """Names of files need not be in the terminal's encoding."""
    encoding = stream.encoding or "utf-8"
    return line.encode(encoding, "backslashreplace").decode(encoding)
