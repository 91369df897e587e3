"""The process behind one side of `ondol bench house`: `ondol serve` with the settings of a policy
that no option of it sets."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.bench.flights import POLICIES, Side
from app.home import product_engine
from app.ports import EnginePort
from app.serve import serve
from app.settings import Settings
from engine.config import EngineConfig


def main(folder: Path, data_dir: Path, side: Side, kv_budget_bytes: int) -> int:
    """Serve until a signal ends it. Returns the exit code."""
    policy = POLICIES[side]

    def make_engine(model: Path, config: EngineConfig, **parts: Any) -> EnginePort:
        config = replace(
            config,
            publication=policy.publication,
            release=policy.release,
            wait_or_compute=policy.wait_or_compute,
        )
        return product_engine(model, config, **parts)

    settings = Settings(port=0, model=folder, data_dir=data_dir, kv_budget_bytes=kv_budget_bytes)
    return serve(settings, make_engine)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), Side(sys.argv[3]), int(sys.argv[4])))
