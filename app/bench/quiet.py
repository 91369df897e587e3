"""Nobody is timed while the machine is not at rest."""

from __future__ import annotations

import time

# Idle BLAS threads look for work for some 30 ms before they sleep.
_SETTLE_S = 0.1


def settle() -> None:
    """Let what ran before come to rest."""
    time.sleep(_SETTLE_S)
