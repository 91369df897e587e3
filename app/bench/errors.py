"""Why a bench cannot go on."""

from __future__ import annotations


class BenchError(Exception):
    """A side of the bench failed; the message says which and how, for a person."""


class EmptyAnswer(BenchError):
    """The model ended its answer without a word, so there was no first token to time."""
