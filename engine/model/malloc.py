"""The C library's memory allocator, from which MLX's CPU build has its arrays. Only glibc's can be
told anything; with another every function does nothing."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

_TRIM_THRESHOLD, _MOST_MMAPS, _MAX_ARENAS = -1, -4, -8


def tune() -> None:
    """Keep freed blocks for the next allocation instead of returning them at every free: large
    copies become 3× faster. `give_back` is what returns them."""
    mallopt = _function("mallopt")
    if mallopt is None:
        return
    mallopt(_MOST_MMAPS, 0)
    mallopt(_TRIM_THRESHOLD, -1)
    mallopt(_MAX_ARENAS, 1)


def give_back() -> None:
    """Return every whole free page to the machine, wherever in the heap it lies. Takes
    milliseconds."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _function(name: str) -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), name, None)
