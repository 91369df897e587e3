"""The process behind one side of `ondol bench house`: `ondol serve` with the settings of a policy
that no option of it sets, and a note of the most memory it ever had."""

from __future__ import annotations

import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.bench.flights import POLICIES, Side
from app.bench.report import write_whole
from app.home import product_engine
from app.ports import EnginePort
from app.serve import serve
from app.settings import Settings
from engine.config import EngineConfig

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def main(folder: Path, data_dir: Path, side: Side, kv_budget_bytes: int, peak_file: Path) -> int:
    """Serve until a signal ends it, then write {"peak_bytes"}. Returns the exit code."""
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
    code = serve(settings, make_engine)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
    write_whole({"peak_bytes": peak}, peak_file)
    return code


if __name__ == "__main__":
    sys.exit(
        main(
            Path(sys.argv[1]),
            Path(sys.argv[2]),
            Side(sys.argv[3]),
            int(sys.argv[4]),
            Path(sys.argv[5]),
        )
    )
