"""The plans of `ondol bench batch`: of a full run and of a quick one."""

from __future__ import annotations

from dataclasses import replace

from app.bench.batch import BatchPlan, Knee, SimulatedPlan, SweepPlan
from app.bench.batch_traffic import Traffic
from app.bench.simulation.model import A100_8B
from engine.config import AdmissionMode

_ENDS = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.PROTECT_CACHE)
_MODES = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.BALANCED, AdmissionMode.PROTECT_CACHE)

# In both, running requests take 60 to 70 % of the pool at the number of clients before the knee.
_SIMULATED = SweepPlan(
    Traffic(40, 2_048, (256, 768), one_off_share=0.15),
    pool_tokens=90_000,
    clients=(4, 8, 16, 32, 64, 128),
    knee=Knee(32, 64),
    modes=_MODES,
    requests=400,
    rounds=6,
)
_MEASURED = SweepPlan(
    Traffic(8, 240, (12, 20), one_off_share=0.15),
    pool_tokens=2_000,
    clients=(1, 2, 4, 8, 16),
    knee=Knee(4, 8),
    modes=_ENDS,
    requests=32,
    rounds=4,
    warm_clients=1,
)

FULL = BatchPlan(SimulatedPlan(A100_8B, _SIMULATED, chunks=(256, 512), chunk_clients=64), _MEASURED)
QUICK = BatchPlan(
    SimulatedPlan(
        A100_8B,
        replace(_SIMULATED, clients=(8, 32, 64, 128), modes=_ENDS, requests=250, rounds=3),
        chunks=(512,),
        chunk_clients=64,
    ),
    replace(_MEASURED, clients=(1, 4, 8, 16), requests=16, rounds=2),
)
