"""The real step loop, schedule and cache on a virtual clock, over a model that only takes time."""
