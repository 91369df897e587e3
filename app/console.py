"""What Ondol says on a terminal: answers on stdout, complaints on stderr, each at once."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One line for a person or a script that waits for it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """One line about what went wrong."""
    sys.stderr.write(f"ondol: {text}\n")
    sys.stderr.flush()
