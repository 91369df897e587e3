"""How hard random tests try: the same examples in every ordinary run, many new ones when asked."""

from __future__ import annotations

import os

from hypothesis import settings

LONG = os.environ.get("ONDOL_LONG_TESTS") == "1"

_LONGER = 20

settings.register_profile("ondol", derandomize=True, deadline=None)
settings.register_profile("ondol-long", derandomize=False, deadline=None, print_blob=True)


def effort(examples: int, steps: int = 50) -> settings:
    """Settings for a property of so many examples, or a machine of so many runs of `steps` steps.

    With ONDOL_LONG_TESTS=1 in the environment, twenty times as many, never the same.
    """
    profile = settings.get_profile("ondol-long" if LONG else "ondol")
    return settings(
        profile,
        max_examples=examples * (_LONGER if LONG else 1),
        stateful_step_count=steps,
    )
