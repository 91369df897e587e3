"""What can go wrong in the engine, in words a person can act on.

Every message may be shown to a client: it names no path, no class and no line of code.
"""

from __future__ import annotations


class EngineError(Exception):
    """Base of everything the engine raises on purpose."""


class ConfigError(EngineError, ValueError):
    """A setting has a value that cannot work; the message names the setting and the allowed
    range."""


class EngineUnavailable(EngineError):
    """No model is ready: loading, failed, hung, restarting or stopped. Ask again later."""


class EngineFailed(EngineError):
    """The engine thread died or hung while this request was in it."""


class StepFailed(EngineError):
    """The model failed while it computed for some requests. `lost` are the places, in the step's
    list of rows, of those whose tails were lost with it; the others stand where they stood.
    `report` is for the log: the traceback as text, since a traceback keeps arrays alive."""

    def __init__(self, reason: str, lost: frozenset[int] = frozenset(), report: str = "") -> None:
        super().__init__(f"The model could not compute this request ({reason}).")
        self.reason = reason
        self.lost = lost
        self.report = report


class QueueFull(EngineError):
    """Too many requests wait already; `retry_after_s` is a fair moment to come back."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DeadlinePassed(EngineError):
    """The request was not done by the time its client had set."""

    def __init__(self, deadline_s: float) -> None:
        super().__init__(
            f"This request was not done within the {deadline_s:g} s that it asked for. What was"
            " computed of its prompt stays: sent again, it goes on from there."
        )


class PromptTooLong(EngineError):
    """The prompt does not fit the context window (tokens) or the KV budget."""

    def __init__(self, num_tokens: int, limit: int, limited_by: str = "context window") -> None:
        super().__init__(
            f"This prompt has {num_tokens} tokens > {limit} tokens, which is the most that the"
            f" {limited_by} allows."
        )
        self.num_tokens = num_tokens
        self.limit = limit


class EmptyPrompt(EngineError, ValueError):
    """A request without a single prompt token."""


class UnknownRequest(EngineError, KeyError):
    """No live request has this id (S0-12: finishing an unknown id is an error)."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "unknown request"


class DuplicateRequest(EngineError, ValueError):
    """A live request already has this id."""


class PinRefused(EngineError):
    """A pin does not fit its share of the budget; the message has both figures in bytes."""


class UnknownPin(EngineError, KeyError):
    """No pin has this name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "unknown pin"


class ModelError(EngineError):
    """A model folder cannot be used; the message says what is missing, broken or unsupported."""


class UnsafeModel(ModelError):
    """A model folder that asks to run code of its own (security S8)."""


class DiskFull(EngineError):
    """Not enough free disk for what should be written; nothing was written."""


class TemplateError(EngineError, ValueError):
    """A chat template refused the messages, took too long or wrote too much (security S6)."""


class IntegrityError(EngineError, AssertionError):
    """A structure broke one of its own rules. Always a bug in Ondol."""
