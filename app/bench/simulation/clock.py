"""Time that passes only when somebody computes or nobody has anything to do."""

from __future__ import annotations

START_S = 1.0  # to a job, 0.0 is a time that was not reached


class VirtualClock:
    """Seconds since one second before the start. Called like `time.monotonic`."""

    def __init__(self) -> None:
        self._now = START_S

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ValueError for time that would run backwards."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards, as {seconds} s would")
        self._now += seconds

    def jump(self, to: float) -> None:
        """Let all the time until `to` pass; none if that is past."""
        self._now = max(self._now, to)
