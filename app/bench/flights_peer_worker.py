"""The process behind `app.bench.flights_peer`: mlx-lm's own server, with the BLAS that Ondol has.

Takes the options of `mlx_lm.server`.
"""

from __future__ import annotations

import runpy

from engine.model import device

if __name__ == "__main__":
    # Both sides must have the same BLAS, and MLX finds it only if it is loaded first.
    device.prepare()
    runpy.run_module("mlx_lm.server", run_name="__main__", alter_sys=True)
