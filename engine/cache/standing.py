"""How much KV matters to people, by whom it was used (S3-1: one pool for all of them)."""

from __future__ import annotations

import enum


class Standing(enum.IntEnum):
    """Who used a page or a checkpoint: the highest counts. What is pinned is held and never up for
    eviction, so it needs none."""

    BACKGROUND = 0  # nobody waits for it: batch work, and what only fills the cache
    ORDINARY = 1
    SESSION = 2  # a client came back and went on from here
    TEMPLATE = 3  # somebody asked for it to be warm
