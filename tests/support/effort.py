"""How hard random tests try: the same examples in every ordinary run, many new ones when asked."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

LONG = os.environ.get("ONDOL_LONG_TESTS") == "1"

_LONGER = 20

settings.register_profile("ondol", derandomize=True, deadline=None)
settings.register_profile("ondol-long", derandomize=False, deadline=None, print_blob=True)
_profile = settings.get_profile("ondol-long" if LONG else "ondol")


def effort(examples: int) -> settings:
    """Settings for a property of so many examples.

    With ONDOL_LONG_TESTS=1 in the environment, twenty times as many, never the same.
    """
    return settings(_profile, max_examples=examples * (_LONGER if LONG else 1))


def long_histories(examples: int, steps: int) -> settings:
    """Settings for a state machine of so many runs of at most `steps` rules each.

    A failing history is made small only in the long form: it takes minutes.
    """
    phases = [Phase.explicit, Phase.reuse, Phase.generate] + ([Phase.shrink] if LONG else [])
    return settings(effort(examples), stateful_step_count=steps, phases=phases)
