"""Counters and histograms under vLLM's names, so that existing dashboards work, plus `ondol:` ones.

Everything is counted once per request, at admission or at its end, never per look at the queue.
The registry is the engine's own: two engines in one process do not meet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from engine.request import FinishReason, RequestRecord
from engine.snapshot import PinState, Snapshot

_LABELS = ("model_name", "engine")
_ENGINE = "0"

_TTFT_SECONDS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
_TOKEN_SECONDS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0),
)
# Finer below 0.3 s than a data centre needs: a warm prefix is prefilled in milliseconds.
_PHASE_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0),
    *(20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
# 1-2-5 up to the largest context a home machine can hold: the model is loaded after these are made.
_REQUEST_TOKENS = (*(step * 10**power for power in range(6) for step in (1, 2, 5)), 10**6)
_STEP_TOKENS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


class EngineMetrics:
    """All series of one engine. Every method may be called from any thread.

    The sources of `prompt_tokens_by_source` add up to `prompt_tokens`: local_compute +
    local_cache_hit + external_kv_transfer (design D9).
    """

    def __init__(self, model_name: str, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._model_name = model_name
        self._queries = self._counter(
            "vllm:prefix_cache_queries", "Prompt tokens looked up in the prefix cache."
        )
        self._hits = self._counter(
            "vllm:prefix_cache_hits", "Prompt tokens found in the prefix cache."
        )
        self._prompt_tokens = self._counter(
            "vllm:prompt_tokens", "Prompt tokens of admitted requests."
        )
        by_source = Counter(
            "vllm:prompt_tokens_by_source",
            "Prompt tokens by where their KV came from.",
            (*_LABELS, "source"),
            registry=self.registry,
        )
        self._computed, self._restored, _external = (
            by_source.labels(model_name, _ENGINE, source)
            for source in ("local_compute", "local_cache_hit", "external_kv_transfer")
        )
        self._prompt_tokens_cached = self._counter(
            "vllm:prompt_tokens_cached", "Prompt tokens that were not computed again."
        )
        self._generation_tokens = self._counter("vllm:generation_tokens", "Tokens generated.")
        self._preemptions = self._counter(
            "vllm:num_preemptions", "Running requests put back into the queue to free memory."
        )
        self._iteration_tokens = self._histogram(
            "vllm:iteration_tokens_total", "Tokens of one engine step.", _STEP_TOKENS
        )
        success = Counter(
            "vllm:request_success",
            "Requests that ended, by reason.",
            (*_LABELS, "finished_reason"),
            registry=self.registry,
        )
        self._ended = {
            reason: success.labels(model_name, _ENGINE, reason.value) for reason in FinishReason
        }
        self._define_request_histograms()
        self._define_own_counters()
        self._rendering = threading.Lock()
        self._gauges = _SnapshotCollector(model_name)
        self.registry.register(self._gauges)

    def _define_request_histograms(self) -> None:
        seconds, tokens = _PHASE_SECONDS, _REQUEST_TOKENS
        self._ttft = self._histogram(
            "vllm:time_to_first_token_seconds", "From submit to the first token.", _TTFT_SECONDS
        )
        self._inter_token = self._histogram(
            "vllm:inter_token_latency_seconds", "Between two tokens of a request.", _TOKEN_SECONDS
        )
        self._per_output_token = self._histogram(
            "vllm:request_time_per_output_token_seconds",
            "Mean time per token after the first, per request.",
            _TOKEN_SECONDS,
        )
        self._e2e = self._histogram(
            "vllm:e2e_request_latency_seconds", "From submit to the end.", seconds
        )
        self._queue = self._histogram(
            "vllm:request_queue_time_seconds", "From submit to admission.", seconds
        )
        self._parked = self._histogram(
            "ondol:request_parked_time_seconds",
            "Of the queue time of requests that waited for another, what they waited for it.",
            seconds,
        )
        self._prefill = self._histogram(
            "vllm:request_prefill_time_seconds", "From admission to the first token.", seconds
        )
        self._decode = self._histogram(
            "vllm:request_decode_time_seconds", "From the first token to the end.", seconds
        )
        self._inference = self._histogram(
            "vllm:request_inference_time_seconds", "From admission to the end.", seconds
        )
        self._request_prompt = self._histogram(
            "vllm:request_prompt_tokens", "Prompt tokens per request.", tokens
        )
        self._request_generation = self._histogram(
            "vllm:request_generation_tokens", "Generated tokens per request.", tokens
        )
        self._request_max_tokens = self._histogram(
            "vllm:request_params_max_tokens", "Most tokens a request may generate.", tokens
        )

    def _define_own_counters(self) -> None:
        self._evicted_pages = Counter(
            "ondol:evictions",
            "Pages evicted.",
            (*_LABELS, "tier", "reason", "standing"),
            registry=self.registry,
        )
        self._evicted_bytes = Counter(
            "ondol:evicted_bytes",
            "Bytes of KV freed by eviction.",
            (*_LABELS, "tier", "reason", "standing"),
            registry=self.registry,
        )
        choices = Counter(
            "ondol:wait_or_compute",
            "Requests that needed what another was computing, by what they did.",
            (*_LABELS, "choice"),
            registry=self.registry,
        )
        self._waited, self._computed_alone = (
            choices.labels(self._model_name, _ENGINE, choice) for choice in ("wait", "compute")
        )
        self._refused = Counter(
            "ondol:requests_refused",
            "Requests refused before they reached the engine's queue.",
            (*_LABELS, "reason"),
            registry=self.registry,
        )
        self._restarts = self._counter(
            "ondol:engine_restarts", "Times the engine thread had to be started again."
        )
        self._unknown_fields = self._counter(
            "ondol:unknown_request_fields", "Request fields that were ignored as unknown."
        )
        self._cache_config = Gauge(
            "vllm:cache_config_info",
            "The cache's settings, as labels.",
            (*_LABELS, "block_size", "num_gpu_blocks", "cache_dtype", "enable_prefix_caching"),
            registry=self.registry,
        )

    def configured(
        self,
        page_tokens: int,
        bytes_per_token: int,
        kv_budget: int,
        weights: int,
        dtype: str,
        peak_memory: Callable[[], int] = int,
    ) -> None:
        """A model stands in memory: `kv_budget` and `weights` are bytes, `dtype` that of its KV;
        `peak_memory` tells the most bytes that the process ever had."""
        num_pages = kv_budget // (page_tokens * bytes_per_token) if bytes_per_token else 0
        self._cache_config.clear()
        self._cache_config.labels(
            self._model_name, _ENGINE, str(page_tokens), str(num_pages), dtype, "True"
        ).set(1)
        self._gauges.weights_bytes = weights
        self._gauges.peak_memory = peak_memory

    def admitted(self, prompt_tokens: int, cached_tokens: int, max_tokens: int) -> None:
        """A request got its row; `cached_tokens` of its prompt were restored. Once per request."""
        self._queries.inc(prompt_tokens)
        self._hits.inc(cached_tokens)
        self._prompt_tokens.inc(prompt_tokens)
        self._prompt_tokens_cached.inc(cached_tokens)
        self._computed.inc(prompt_tokens - cached_tokens)
        self._restored.inc(cached_tokens)
        self._request_max_tokens.observe(max_tokens)

    def first_token(self, ttft_s: float) -> None:
        """A request's first generated token, counted from its submit."""
        self._generation_tokens.inc()
        self._ttft.observe(ttft_s)

    def inter_token(self, seconds: float) -> None:
        """Every further generated token, counted from the one before."""
        self._generation_tokens.inc()
        self._inter_token.observe(seconds)

    def finished(self, record: RequestRecord) -> None:
        """A request ended, for whatever reason. A phase that never began is not observed."""
        usage, timings = record.usage, record.timings
        self._ended[record.reason].inc()
        self._request_prompt.observe(usage.prompt_tokens)
        self._request_generation.observe(usage.completion_tokens)
        self._e2e.observe(timings.total_s)
        self._queue.observe(timings.queue_s)
        if record.decision is not None:
            (self._waited if record.decision.waited else self._computed_alone).inc()
        if timings.parked_s > 0:
            self._parked.observe(timings.parked_s)
        if timings.prefill_s > 0:
            self._prefill.observe(timings.prefill_s)
            self._inference.observe(timings.prefill_s + timings.decode_s)
        if timings.decode_s > 0:
            self._decode.observe(timings.decode_s)
        if usage.completion_tokens > 1:
            self._per_output_token.observe(timings.decode_s / (usage.completion_tokens - 1))

    def preempted(self) -> None:
        """A running request went back to the queue to free memory."""
        self._preemptions.inc()

    def evicted(self, num_pages: int, num_bytes: int, reason: str, standing: str) -> None:
        """Pages left the live tier; `reason` and the `standing` of what they were are among the
        engine's few fixed words."""
        labels = (self._model_name, _ENGINE, "ram", reason, standing)
        self._evicted_pages.labels(*labels).inc(num_pages)
        self._evicted_bytes.labels(*labels).inc(num_bytes)

    def step(self, num_tokens: int) -> None:
        """One forward step over `num_tokens`, prompt and generated together."""
        self._iteration_tokens.observe(num_tokens)

    def restarted(self) -> None:
        """The engine thread was started again after it died."""
        self._restarts.inc()

    def refused(self, reason: str) -> None:
        """A request never reached the queue; `reason` is an error code, never a client's text."""
        self._refused.labels(self._model_name, _ENGINE, reason).inc()

    def ignored_fields(self, num_fields: int) -> None:
        """A request carried fields that no surface of Ondol knows."""
        self._unknown_fields.inc(num_fields)

    def render(self, snapshot: Snapshot) -> tuple[bytes, str]:
        """The exposition text with the gauges of `snapshot`, and its content type."""
        with self._rendering:
            self._gauges.snapshot = snapshot
            return generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4

    def _counter(self, name: str, text: str) -> Counter:
        counter = Counter(name, text, _LABELS, registry=self.registry)
        return counter.labels(self._model_name, _ENGINE)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        histogram = Histogram(name, text, _LABELS, buckets=buckets, registry=self.registry)
        return histogram.labels(self._model_name, _ENGINE)


class _SnapshotCollector(Collector):
    """Gauges read from one snapshot, so that pins which are gone leave no series behind."""

    def __init__(self, model_name: str) -> None:
        self.weights_bytes = 0
        self.peak_memory: Callable[[], int] = int
        self.snapshot = Snapshot()
        self._labels = (model_name, _ENGINE)

    def collect(self) -> Iterator[Metric]:
        snapshot, memory = self.snapshot, self.snapshot.memory
        yield self._gauge(
            "vllm:num_requests_running", "Requests in the batch.", snapshot.num_running
        )
        queued_pins = sum(pin.state is PinState.QUEUED for pin in snapshot.pins)
        num_waiting = max(0, snapshot.num_waiting - queued_pins)  # warming a pin is no request
        yield self._gauge("vllm:num_requests_waiting", "Requests in the queue.", num_waiting)
        waiting = GaugeMetricFamily(
            "vllm:num_requests_waiting_by_reason",
            "Requests in the queue, by what they wait for.",
            labels=(*_LABELS, "reason"),
        )
        capacity = max(0, num_waiting - snapshot.num_parked)
        waiting.add_metric((*self._labels, "capacity"), capacity)
        waiting.add_metric((*self._labels, "deferred"), snapshot.num_parked)
        yield waiting
        used = memory.used / memory.budget if memory.budget else 0.0
        yield self._gauge("vllm:kv_cache_usage_perc", "Share of the KV budget in use, 0-1.", used)
        held = GaugeMetricFamily(
            "ondol:memory_bytes",
            "Bytes held, by kind; the kinds add up.",
            labels=(*_LABELS, "kind"),
        )
        held.add_metric((*self._labels, "weights"), self.weights_bytes)
        held.add_metric((*self._labels, "kv_running"), memory.running)
        held.add_metric((*self._labels, "kv_resident"), memory.resident)
        yield held
        yield self._gauge("ondol:kv_budget_bytes", "Most bytes of KV allowed.", memory.budget)
        yield self._gauge(
            "ondol:kv_reserved_bytes", "Bytes promised to running requests.", memory.reserved
        )
        yield self._gauge("ondol:kv_pinned_bytes", "Resident bytes held by pins.", memory.pinned)
        yield self._gauge(
            "ondol:kv_free_bytes", "Bytes of the KV budget that nothing uses.", memory.free
        )
        yield self._gauge(
            "ondol:process_peak_bytes",
            "Most memory that the process ever had, a GPU's arrays included.",
            self.peak_memory(),
        )
        yield from self._capacity(snapshot)
        yield from self._pins(snapshot)

    def _capacity(self, snapshot: Snapshot) -> Iterator[Metric]:
        """B_max and what it is made of (S3-5)."""
        capacity = snapshot.capacity
        yield self._gauge(
            "ondol:max_running_requests",
            "B_max: requests that may run at once as the traffic is now.",
            capacity.max_running,
        )
        yield self._gauge(
            "ondol:mean_own_tokens",
            "Tokens of a recent request that it shared with nobody.",
            capacity.mean_tokens,
        )
        yield self._gauge(
            "ondol:kv_hot_bytes",
            "Bytes of prefixes that were hit again lately.",
            capacity.hot_bytes,
        )
        yield self._gauge(
            "ondol:kv_hot_reserve_bytes",
            "Bytes that running requests leave to them.",
            capacity.reserve_bytes,
        )
        mode = GaugeMetricFamily(
            "ondol:admission_mode", "The admission mode in force.", labels=(*_LABELS, "mode")
        )
        mode.add_metric((*self._labels, capacity.mode.value), 1)
        yield mode

    def _pins(self, snapshot: Snapshot) -> Iterator[Metric]:
        tokens = GaugeMetricFamily(
            "ondol:pinned_prefix_tokens",
            "Tokens of a pin that stand in KV.",
            labels=(*_LABELS, "prefix"),
        )
        sizes = GaugeMetricFamily(
            "ondol:pinned_prefix_bytes",
            "Bytes a pin holds.",
            labels=(*_LABELS, "prefix", "tier"),
        )
        hits = CounterMetricFamily(
            "ondol:pinned_prefix_hits",
            "Requests that used a pin.",
            labels=(*_LABELS, "prefix"),
        )
        for pin in snapshot.pins:
            tokens.add_metric((*self._labels, pin.name), pin.done_tokens)
            sizes.add_metric((*self._labels, pin.name, "ram"), pin.num_bytes)
            hits.add_metric((*self._labels, pin.name), pin.hits)
        yield from (tokens, sizes, hits)

    def _gauge(self, name: str, text: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=_LABELS)
        family.add_metric(self._labels, value)
        return family
