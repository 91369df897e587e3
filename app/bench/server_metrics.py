"""What a bench reads from `/metrics`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from app.bench.client import Client
from app.bench.errors import BenchError
from app.bench.memory import Peak
from engine.model import device


@dataclass(frozen=True, slots=True)
class Reading:
    """What the server had counted at one moment, and how much memory it held then."""

    prompt_tokens: int = 0
    reused_tokens: int = 0
    prefill_s: float = 0.0
    evicted_pages: int = 0
    preemptions: int = 0
    kv_bytes: int = 0
    budget_bytes: int = 0
    weights_bytes: int = 0
    process_peak_bytes: int = 0


def read(text: str) -> Reading:
    """What the exposition text of `/metrics` says; a series that is missing counts as 0."""
    values: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            kind = sample.labels.get("kind")
            values[f"{sample.name}/{kind}" if kind else sample.name] += sample.value
    held = "ondol:memory_bytes"
    return Reading(
        prompt_tokens=int(values["vllm:prefix_cache_queries_total"]),
        reused_tokens=int(values["vllm:prefix_cache_hits_total"]),
        prefill_s=values["vllm:request_prefill_time_seconds_sum"],
        evicted_pages=int(values["ondol:evictions_total"]),
        preemptions=int(values["vllm:num_preemptions_total"]),
        kv_bytes=int(values[f"{held}/kv_running"] + values[f"{held}/kv_resident"]),
        budget_bytes=int(values["ondol:kv_budget_bytes"]),
        weights_bytes=int(values[f"{held}/weights"]),
        process_peak_bytes=int(values["ondol:process_peak_bytes"]),
    )


def peak_of(process: str, client: Client) -> Peak:
    """The most memory that a server has had so far. Raises BenchError."""
    reading = read(client.metrics())
    if not reading.process_peak_bytes:
        raise BenchError(f"`{process}` does not tell its peak memory.")
    return Peak(
        process,
        reading.process_peak_bytes,
        reading.budget_bytes,
        reading.weights_bytes,
        device.workspace_bytes(),
    )
