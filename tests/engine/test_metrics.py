"""Names, values and the invariants of what is exported."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from engine.config import AdmissionMode
from engine.metrics import EngineMetrics
from engine.request import Decision, FinishReason, Priority, RequestRecord, Timings, Usage
from engine.snapshot import Capacity, Memory, PinState, PinStatus, Snapshot

VLLM_NAMES = {
    *("num_requests_running", "num_requests_waiting", "num_requests_waiting_by_reason"),
    *("kv_cache_usage_perc", "prefix_cache_queries_total", "prefix_cache_hits_total"),
    *("prompt_tokens_total", "generation_tokens_total", "prompt_tokens_by_source_total"),
    *("prompt_tokens_cached_total", "num_preemptions_total", "request_success_total"),
    *("iteration_tokens_total_bucket", "cache_config_info"),
    *(
        f"{name}_bucket"
        for name in (
            *("time_to_first_token_seconds", "inter_token_latency_seconds"),
            *("request_time_per_output_token_seconds", "e2e_request_latency_seconds"),
            *("request_queue_time_seconds", "request_prefill_time_seconds"),
            *("request_decode_time_seconds", "request_inference_time_seconds"),
            *("request_prompt_tokens", "request_generation_tokens", "request_params_max_tokens"),
        )
    ),
}
OWN_NAMES = {
    *("memory_bytes", "kv_budget_bytes", "kv_reserved_bytes", "kv_pinned_bytes"),
    *("kv_free_bytes", "kv_hot_bytes", "kv_hot_reserve_bytes", "process_peak_bytes"),
    *("max_running_requests", "mean_own_tokens", "admission_mode"),
    *("wait_or_compute_total", "request_parked_time_seconds_bucket"),
    *("evictions_total", "evicted_bytes_total", "engine_restarts_total"),
    *("requests_refused_total", "unknown_request_fields_total"),
    *("pinned_prefix_tokens", "pinned_prefix_bytes", "pinned_prefix_hits_total"),
}
PIN = PinStatus("house", PinState.READY, num_tokens=96, done_tokens=80, num_bytes=4096, hits=7)
SNAPSHOT = Snapshot(
    num_running=3,
    num_waiting=2,
    memory=Memory(budget=1000, running=100, resident=150, pinned=40, reserved=30),
    pins=(PIN,),
)


USAGE = Usage(prompt_tokens=100, cached_tokens=64, completion_tokens=11)
TIMINGS = Timings(queue_s=0.25, prefill_s=0.5, decode_s=2.0, ttft_s=0.75, total_s=2.75)


def record(
    reason: FinishReason = FinishReason.STOP, usage: Usage = USAGE, timings: Timings = TIMINGS
) -> RequestRecord:
    return RequestRecord("r1", "", "m", Priority.INTERACTIVE, reason, usage, timings, 1e9)


def samples(metrics: EngineMetrics, snapshot: Snapshot = SNAPSHOT) -> dict[str, float]:
    """Every sample by name and the labels that are not the same everywhere."""
    text, _content_type = metrics.render(snapshot)
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            labels = dict(sample.labels)
            if sample.name != "vllm:cache_config_info":
                assert labels.pop("model_name") == "m"
                assert labels.pop("engine") == "0"
            key = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
            found[f"{sample.name}{{{key}}}" if key else sample.name] = sample.value
    return found


def names(found: dict[str, float]) -> set[str]:
    return {name.split("{")[0] for name in found}


def test_the_exported_names_are_those_that_dashboards_ask_for() -> None:
    metrics = EngineMetrics("m")
    metrics.configured(16, 100, kv_budget=100_000, weights=5, dtype="float32")
    metrics.evicted(3, 300, "capacity", "session")
    metrics.refused("rate_limit_exceeded")
    exported = names(samples(metrics))
    assert {f"vllm:{name}" for name in VLLM_NAMES} - exported == set()
    assert {f"ondol:{name}" for name in OWN_NAMES} - exported == set()


def test_the_text_is_the_format_every_prometheus_reads() -> None:
    text, content_type = EngineMetrics("m").render(Snapshot())
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert b"# TYPE vllm:prefix_cache_hits_total counter\n" in text
    assert b'vllm:prefix_cache_hits_total{engine="0",model_name="m"} 0.0\n' in text


@settings(deadline=None)
@given(
    requests=st.lists(
        st.tuples(st.integers(1, 10_000), st.integers(0, 10_000)).map(
            lambda pair: (pair[0], min(pair[1], pair[0] - 1))
        ),
        max_size=20,
    )
)
def test_the_sources_add_up_to_the_prompt_tokens(requests: list[tuple[int, int]]) -> None:
    metrics = EngineMetrics("m")
    for prompt_tokens, cached_tokens in requests:
        metrics.admitted(prompt_tokens, cached_tokens, max_tokens=8)
    found = samples(metrics)
    by_source = "vllm:prompt_tokens_by_source_total{source=%s}"
    computed, restored, external = (
        found[by_source % source]
        for source in ("local_compute", "local_cache_hit", "external_kv_transfer")
    )
    assert computed + restored + external == found["vllm:prompt_tokens_total"]
    assert found["vllm:prompt_tokens_total"] == sum(prompt for prompt, _ in requests)
    assert found["vllm:prefix_cache_queries_total"] == found["vllm:prompt_tokens_total"]
    assert found["vllm:prefix_cache_hits_total"] == restored == sum(hit for _, hit in requests)
    assert found["vllm:prompt_tokens_cached_total"] == restored
    assert found["vllm:request_params_max_tokens_count"] == len(requests)


def test_tokens_are_counted_as_they_come() -> None:
    metrics = EngineMetrics("m")
    metrics.first_token(0.3)
    for _ in range(4):
        metrics.inter_token(0.02)
    metrics.step(128)
    found = samples(metrics)
    assert found["vllm:generation_tokens_total"] == 5
    assert found["vllm:time_to_first_token_seconds_bucket{le=0.25}"] == 0
    assert found["vllm:time_to_first_token_seconds_bucket{le=0.5}"] == 1
    assert found["vllm:inter_token_latency_seconds_count"] == 4
    assert found["vllm:inter_token_latency_seconds_sum"] == pytest.approx(0.08)
    assert found["vllm:iteration_tokens_total_sum"] == 128


def test_a_finished_request_is_observed_once_in_every_histogram() -> None:
    metrics = EngineMetrics("m")
    metrics.finished(record())
    found = samples(metrics)
    assert found["vllm:request_success_total{finished_reason=stop}"] == 1
    assert found["vllm:request_success_total{finished_reason=abort}"] == 0
    expected = {
        "e2e_request_latency_seconds": 2.75,
        "request_queue_time_seconds": 0.25,
        "request_prefill_time_seconds": 0.5,
        "request_decode_time_seconds": 2.0,
        "request_inference_time_seconds": 2.5,
        "request_time_per_output_token_seconds": 0.2,
        "request_prompt_tokens": 100,
        "request_generation_tokens": 11,
    }
    for name, total in expected.items():
        assert found[f"vllm:{name}_sum"] == pytest.approx(total)
        assert found[f"vllm:{name}_count"] == 1


def test_phases_that_never_began_are_not_observed() -> None:
    metrics = EngineMetrics("m")
    metrics.finished(record(FinishReason.ABORT, Usage(), Timings(queue_s=3.0, total_s=3.0)))
    found = samples(metrics)
    assert found["vllm:request_success_total{finished_reason=abort}"] == 1
    assert found["vllm:request_queue_time_seconds_count"] == 1
    for phase in ("prefill_time", "decode_time", "inference_time", "time_per_output_token"):
        assert found[f"vllm:request_{phase}_seconds_count"] == 0


def test_gauges_come_from_the_snapshot() -> None:
    metrics = EngineMetrics("m")
    metrics.configured(
        16, 10, kv_budget=1000, weights=5000, dtype="float32", peak_memory=lambda: 7777
    )
    found = samples(metrics)
    assert found["vllm:num_requests_running"] == 3
    assert found["vllm:num_requests_waiting"] == 2
    waiting = "vllm:num_requests_waiting_by_reason{reason=%s}"
    assert found[waiting % "capacity"] + found[waiting % "deferred"] == 2
    assert found["vllm:kv_cache_usage_perc"] == 0.25
    assert found["ondol:memory_bytes{kind=weights}"] == 5000
    assert found["ondol:memory_bytes{kind=kv_running}"] == 100
    assert found["ondol:memory_bytes{kind=kv_resident}"] == 150
    assert found["ondol:kv_budget_bytes"] == 1000
    assert found["ondol:process_peak_bytes"] == 7777
    assert samples(metrics, Snapshot())["vllm:kv_cache_usage_perc"] == 0


def test_a_pin_that_is_gone_leaves_no_series() -> None:
    metrics = EngineMetrics("m")
    found = samples(metrics)
    assert found["ondol:pinned_prefix_tokens{prefix=house}"] == 80
    assert found["ondol:pinned_prefix_bytes{prefix=house,tier=ram}"] == 4096
    assert found["ondol:pinned_prefix_hits_total{prefix=house}"] == 7
    assert not [name for name in samples(metrics, Snapshot()) if "prefix=house" in name]


def test_another_model_replaces_the_cache_settings() -> None:
    metrics = EngineMetrics("m")
    metrics.configured(16, 10, kv_budget=1600, weights=1, dtype="float32")
    metrics.configured(16, 100, kv_budget=1600, weights=2, dtype="bfloat16")
    infos = [name for name in samples(metrics) if name.startswith("vllm:cache_config_info")]
    assert len(infos) == 1
    assert "block_size=16" in infos[0]
    assert "cache_dtype=bfloat16" in infos[0]
    assert "num_gpu_blocks=1," in infos[0] or infos[0].endswith("num_gpu_blocks=1}")


def test_events_of_ondol_s_own() -> None:
    metrics = EngineMetrics("m")
    metrics.evicted(3, 300, "capacity", "session")
    metrics.evicted(2, 200, "capacity", "session")
    metrics.restarted()
    metrics.preempted()
    metrics.refused("rate_limit_exceeded")
    metrics.ignored_fields(4)
    found = samples(metrics)
    assert found["ondol:evictions_total{reason=capacity,standing=session,tier=ram}"] == 5
    assert found["ondol:evicted_bytes_total{reason=capacity,standing=session,tier=ram}"] == 500
    assert found["ondol:engine_restarts_total"] == 1
    assert found["vllm:num_preemptions_total"] == 1
    assert found["ondol:requests_refused_total{reason=rate_limit_exceeded}"] == 1
    assert found["ondol:unknown_request_fields_total"] == 4


def test_two_engines_do_not_meet_and_a_registry_may_be_given() -> None:
    registry = CollectorRegistry()
    one, other = EngineMetrics("m", registry), EngineMetrics("m")
    one.restarted()
    assert one.registry is registry
    assert samples(one)["ondol:engine_restarts_total"] == 1
    assert samples(other)["ondol:engine_restarts_total"] == 0


def test_who_waited_for_another_and_what_may_run() -> None:
    metrics = EngineMetrics("m")
    for waited in (True, True, False):
        decision = Decision(waited, "leader", 480, 0, 1.0, 2.0)
        timings = replace(TIMINGS, parked_s=0.125 if waited else 0.0)
        metrics.finished(replace(record(FinishReason.STOP), timings=timings, decision=decision))
    metrics.finished(record(FinishReason.STOP))
    capacity = Capacity(AdmissionMode.BALANCED, 12, 300.5, 4000, 2000)
    queued = PinStatus("policy", PinState.QUEUED)  # warming it is no request
    snapshot = replace(SNAPSHOT, capacity=capacity, num_waiting=6, num_parked=3, pins=(PIN, queued))
    found = samples(metrics, snapshot)
    assert found["ondol:wait_or_compute_total{choice=wait}"] == 2
    assert found["ondol:wait_or_compute_total{choice=compute}"] == 1
    assert found["ondol:request_parked_time_seconds_count"] == 2
    assert found["ondol:request_parked_time_seconds_sum"] == 0.25
    assert found["ondol:max_running_requests"] == 12
    assert found["ondol:mean_own_tokens"] == 300.5
    assert found["ondol:kv_hot_bytes"] == 4000
    assert found["ondol:kv_hot_reserve_bytes"] == 2000
    assert found["ondol:kv_free_bytes"] == 1000 - 250
    assert found["ondol:admission_mode{mode=balanced}"] == 1
    assert found["vllm:num_requests_waiting_by_reason{reason=capacity}"] == 2
    assert found["vllm:num_requests_waiting_by_reason{reason=deferred}"] == 3
