"""Memory of freed arrays and of stopped engines goes back to the machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.config import MIB
from tests.support.fresh import run_fresh

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only glibc keeps memory that it could give back"
)

RESIDENT = """
from pathlib import Path

def resident():
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmRSS:")
    ]
    return int(line.split()[1]) * 1024
"""

ARRAYS = (
    RESIDENT
    + """
from engine.model import device
device.prepare()
import mlx.core as mx
mx.set_cache_limit(0)
mx.eval(mx.zeros((8,)))
before = resident()
arrays = [mx.ones((1024, 1024)) * n for n in range(100)]
mx.eval(arrays)
held = resident()
last = arrays[-1]  # nothing below it in the heap can be cut off at its end
del arrays
freed = resident()
device.free_unused()
print(json.dumps([before, held, freed, resident()]))
"""
)

ENGINES = (
    RESIDENT
    + """
from engine.config import MIB, EngineConfig
from engine.engine import Engine
from engine.metrics import EngineMetrics
from engine.model import device, machine
device.describe()
before, after, peaks = resident(), [], []
for _ in range(2):
    engine = Engine(
        Path(sys.argv[1]),
        EngineConfig(kv_budget_bytes=256 * MIB),
        model_id="starter",
        deliver=lambda events: None,
        metrics=EngineMetrics("starter"),
    )
    engine.start()
    engine.wait_until_ready(120)
    weights = engine.model.weights_bytes
    engine.stop()
    after.append(resident())
    peaks.append(machine.peak_process_bytes())
print(json.dumps([before, after, peaks, weights]))
"""
)


def test_freed_arrays_go_back_when_that_is_asked_for() -> None:
    before, held, freed, given_back = run_fresh(ARRAYS)
    assert held - before > 380 * MIB
    assert freed - before > 380 * MIB, "else they wait for the next allocation"
    assert given_back - before < 40 * MIB


def test_a_stopped_engine_leaves_nothing_and_the_next_one_takes_no_more(
    starter_model: Path,
) -> None:
    before, after, peaks, weights = run_fresh(ENGINES, str(starter_model))
    assert weights > 500 * MIB
    assert peaks[0] - before > weights
    # Libraries that were loaded with the model stay.
    assert [resident - before < 0.3 * weights for resident in after] == [True, True], after
    assert peaks[1] - peaks[0] < 0.2 * weights
