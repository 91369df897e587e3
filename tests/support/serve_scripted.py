"""`ondol serve` around a scripted engine as a process: `python -m` with serve's options.

Qt cannot be imported in it. At the end it says whether MLX was.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

from app.__main__ import main
from engine.snapshot import EngineState, Health
from tests.support import scripted_engine


class NoQt(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in ("PySide6", "shiboken6"):
            raise ImportError(f"{name} is not for a headless server")
        return None


def run() -> int:
    """The product's command line; only the engine is another."""
    import app.home

    arguments = sys.argv[1:]
    broken, waiting = "--broken" in arguments, "--waiting" in arguments

    def make(*args: Any, **options: Any) -> scripted_engine.ScriptedEngine:
        engine = scripted_engine.make_scripted_engine(*args, **options)
        if broken:
            engine.health = Health(EngineState.FAILED, "config.json does not name a model_type.")
            engine.model = None
        if waiting:
            engine.answer = None
        return engine

    app.home.product_engine = make
    return main([name for name in arguments if name not in ("--broken", "--waiting")])


if __name__ == "__main__":
    sys.meta_path.insert(0, NoQt())
    code = run()
    sys.stdout.write(f"mlx imported: {'mlx' in sys.modules}\n")
    sys.exit(code)
