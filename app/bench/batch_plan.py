"""The plans of `ondol bench batch`: of a full run and of a quick one."""

from __future__ import annotations

from dataclasses import replace

from app.bench.batch import BatchPlan, ChunkPlan, Knee, SimulatedPlan, SweepPlan
from app.bench.batch_traffic import Traffic
from app.bench.simulation.model import A100_8B
from engine.config import AdmissionMode

_ENDS = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.PROTECT_CACHE)
_MODES = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.BALANCED, AdmissionMode.PROTECT_CACHE)

# In the sweeps, running requests take 60 to 70 % of the pool at the number of clients before the
# knee, and all system prompts just fit beside them (S3-6). In the simulated one all sizes are a
# quarter of the article's, whose requests have 2,048 tokens in the mean while they run (S3-2).
_SIMULATED = SweepPlan(
    Traffic(62, 160, (480, 928), one_off_share=0.2),
    pool_tokens=24_600,
    clients=(4, 8, 16, 32, 64, 128),
    modes=_MODES,
    requests=300,
    rounds=3,
    lead_rounds=2,
)
_KNEE = Knee(32, 64)
_FEW = SweepPlan(
    Traffic(8, 640, (128, 256), one_off_share=0.2),
    pool_tokens=49_000,
    clients=(8,),
    modes=(AdmissionMode.PROTECT_CACHE,),
    requests=100,
    rounds=1,
)
_CHUNKED = ChunkPlan(
    Traffic(8, 2_048, (1_024, 2_048), one_off_share=0.2),
    pool_tokens=40_000,
    clients=32,
    chunks=(256, 512),
    requests=150,
)
_MEASURED = SweepPlan(
    Traffic(5, 160, (6, 10), one_off_share=0.2),
    pool_tokens=900,
    clients=(1, 2, 4, 8, 16),
    modes=_ENDS,
    requests=40,
    rounds=3,
    warm_clients=1,
)

FULL = BatchPlan(SimulatedPlan(A100_8B, _SIMULATED, _KNEE, _FEW, _CHUNKED), _MEASURED)
QUICK = BatchPlan(
    SimulatedPlan(
        A100_8B,
        replace(
            _SIMULATED,
            clients=(8, 32, 64, 128),
            modes=_ENDS,
            requests=200,
            rounds=2,
        ),
        _KNEE,
        _FEW,
        replace(_CHUNKED, chunks=(512,), requests=64),
    ),
    replace(_MEASURED, clients=(1, 4, 8), requests=15, rounds=1),
)
