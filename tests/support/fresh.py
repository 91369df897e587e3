"""Code in a process of its own: what a process does once, and what it takes of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_fresh(code: str, *arguments: str, **environment: str) -> Any:
    """What `code` prints as JSON; its `sys.argv[1:]` are the arguments."""
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{code}", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path.cwd()), **environment},
    )
    return json.loads(done.stdout)
