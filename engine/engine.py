"""The engine as the rest of the house sees it: one object, safe to call from any thread."""

from __future__ import annotations

import dataclasses
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.assembly import Assembler, Assembly, assemble
from engine.commands import Cancel, DropPin, Pause, Pressure, Stop, Submit, WarmPin
from engine.config import EngineConfig
from engine.counters import Counters
from engine.errors import (
    DuplicateRequest,
    EmptyPrompt,
    EngineError,
    EngineFailed,
    EngineUnavailable,
    ModelError,
    PinRefused,
    PromptTooLong,
    QueueFull,
    UnknownPin,
    UnknownRequest,
)
from engine.life import EngineLife
from engine.metrics import EngineMetrics
from engine.model import device, pressure
from engine.pins import PinSpec, distinct_tokens
from engine.prompt.chat import ChatFormatter, Message
from engine.prompt.template import TemplateRenderer
from engine.request import Event, Failed, Finished, Prompt, Request, RequestRecord
from engine.snapshot import EngineState, Health, Snapshot

if TYPE_CHECKING:
    from engine.model.info import ModelInfo

log = logging.getLogger(__name__)

RECORDS_KEPT = 1000
MAX_RESTART_DELAY_S = 30.0
SOUND_LIFE_S = 60.0  # a thread that lived this long restarts at the shortest delay again
MAX_RETRY_AFTER_S = 60
PRESSURE_INTERVAL_S = 10.0  # the cache is made smaller so often while memory stays short


class Engine:
    """Owns the engine thread: starts it, watches it, starts it again when it dies.

    `deliver` gets every event of every request, in batches, from the engine thread or the watchdog;
    it must only hand them on. `memory_is_short` tells whether the machine needs memory back. Each
    request that `submit` took ends with exactly one Finished or
    Failed, whatever happens.
    """

    def __init__(
        self,
        model: Path,
        config: EngineConfig,
        *,
        model_id: str,
        deliver: Callable[[tuple[Event, ...]], None],
        metrics: EngineMetrics,
        pins: Iterable[PinSpec] = (),
        assembler: Assembler = assemble,
        memory_is_short: Callable[[], bool] = pressure.memory_is_short,
    ) -> None:
        self._path = model
        self._model_id = model_id
        self._config = config
        self._deliver = deliver
        self._metrics = metrics
        self._assembler = assembler
        self._memory_is_short = memory_is_short
        self._renderer = TemplateRenderer()
        self._counters = Counters()
        self._records: deque[RequestRecord] = deque(maxlen=RECORDS_KEPT)
        self._worked_s: deque[float] = deque(maxlen=16)  # what the latest requests took
        self._lock = threading.Lock()  # guards everything below
        self._state = EngineState.STOPPED
        self._reason = "The engine has not been started."
        self._live: set[str] = set()
        self._pins = {spec.name: spec for spec in pins}
        self._warmed: set[str] = set()
        self._life: EngineLife | None = None
        self._formatter: ChatFormatter | None = None
        self._stopping = False
        self._paused = False
        self._changed = threading.Condition(self._lock)  # state, life or stopping changed
        self._watchdog: threading.Thread | None = None

    # Life

    def start(self) -> None:
        """Begin to load the model; returns at once. Raises RuntimeError if started before."""
        with self._lock:
            if self._watchdog is not None:
                raise RuntimeError("an engine starts once")
            self._set_state(EngineState.LOADING, "The model is being loaded.")
            self._watchdog = threading.Thread(
                target=self._supervise, name="ondol-watchdog", daemon=True
            )
        self._watchdog.start()

    def stop(self, timeout_s: float = 30.0) -> bool:
        """Cancel everything, free the model on its own thread, and end. False if the engine thread
        did not end in time (it hangs inside a step)."""
        with self._lock:
            self._stopping = True
            if self._state is not EngineState.STOPPED:
                self._set_state(EngineState.STOPPING, "The engine is stopping.")
            if self._life is not None:
                self._life.inbox.put(Stop())
            self._changed.notify_all()
        ended = True
        if self._watchdog is not None:
            self._watchdog.join(timeout_s)
            ended = not self._watchdog.is_alive()
        self._fail_all("The engine was stopped.")
        self._renderer.close()
        return ended

    def switch_model(self, model: Path, model_id: str) -> None:
        """Serve another model from now on. Requests in the old one end with an error; pins are
        warmed anew."""
        with self._lock:
            self._path, self._model_id = model, model_id
            self._set_state(EngineState.LOADING, "Another model is being loaded.")
            if self._life is not None:
                self._life.inbox.put(Stop())

    def wait_until_ready(self, timeout_s: float) -> Health:
        """Wait until requests are served or cannot be without help (failed, stopped); returns the
        health then."""
        settled = (EngineState.READY, EngineState.FAILED, EngineState.STOPPED)
        with self._changed:
            self._changed.wait_for(lambda: self._state in settled, timeout_s)
        return self.health

    # What others see

    @property
    def health(self) -> Health:
        snapshot = self.snapshot
        return Health(snapshot.state, snapshot.reason)

    @property
    def snapshot(self) -> Snapshot:
        """The engine now; never blocks on a step."""
        life, state, reason = self._life, self._state, self._reason
        snapshot = life.snapshot if life else Snapshot()
        if state is EngineState.READY:
            return snapshot
        return dataclasses.replace(snapshot, state=state, reason=reason, model_id=self._model_id)

    @property
    def model(self) -> ModelInfo | None:
        """The model that is loaded, None before that."""
        life = self._life
        return life.assembly.info if life and life.assembly else None

    def drain_records(self) -> list[RequestRecord]:
        """Requests that ended since the last call, oldest first; at most RECORDS_KEPT are kept."""
        drained = []
        while self._records:
            drained.append(self._records.popleft())
        return drained

    # Requests

    def format(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, object]] | None = None,
        template_kwargs: Mapping[str, object] | None = None,
    ) -> Prompt:
        """Render and tokenise a chat. Takes milliseconds; call it off the event loop.

        Raises TemplateError, InvalidText, EngineUnavailable.
        """
        formatter = self._formatter
        if formatter is None:
            raise EngineUnavailable(self._reason)
        return formatter.format(messages, tools, template_kwargs)

    def prefix(self, spec: PinSpec) -> Prompt:
        """The tokens that every request with this beginning starts with. Takes milliseconds.

        Raises TemplateError, InvalidText, EngineUnavailable.
        """
        formatter = self._formatter
        if formatter is None:
            raise EngineUnavailable(self._reason)
        return formatter.prefix(spec.messages, spec.tools)

    def submit(self, request: Request) -> None:
        """Queue a request. Its answer may be cut to what the context window and the KV budget
        leave.

        Raises EngineUnavailable, QueueFull, PromptTooLong, EmptyPrompt, DuplicateRequest.
        """
        with self._lock:
            life, assembly = self._serving()
            max_tokens = self._tokens_left(request, assembly)
            if request.id in self._live:
                raise DuplicateRequest(f"A request with id {request.id} is running already.")
            if len(self._live) >= self._config.max_running + self._config.max_queue:
                raise QueueFull(
                    f"{len(self._live)} requests are running or waiting already; try again later.",
                    self._retry_after_s(life.snapshot),
                )
            self._live.add(request.id)
            life.inbox.put(Submit(request, max_tokens, time.monotonic()))

    def cancel(self, request_id: str) -> None:
        """End a request within one step; it finishes with ABORT and its computed pages stay. Raises
        UnknownRequest."""
        with self._lock:
            if request_id not in self._live or self._life is None:
                raise UnknownRequest(f"No request with id {request_id} is live.")
            self._life.inbox.put(Cancel(request_id))

    def pause(self) -> None:
        """Let running requests finish and keep new ones waiting, until `resume`. Memory stays."""
        self._set_paused(True)

    def resume(self) -> None:
        """Start waiting requests again."""
        self._set_paused(False)

    # Pins

    @property
    def pins(self) -> Mapping[str, PinSpec]:
        """The pins that were taken and not let go, by name."""
        with self._lock:
            return dict(self._pins)

    def pin(self, spec: PinSpec) -> None:
        """Keep a prefix warm from now on, through restarts of the engine thread and changes of
        model.

        It is computed in the background. Raises PinRefused with the figures if it does not fit the
        pins' share of the budget; also TemplateError, EngineUnavailable.
        """
        with self._lock:
            _, assembly = self._serving()
            formatter = self._formatter
            others = [pin for pin in self._pins.values() if pin.name != spec.name]
        assert formatter is not None
        tokens = formatter.prefix(spec.messages, spec.tools).tokens
        self._check_pin(
            tokens, [formatter.prefix(pin.messages, pin.tools).tokens for pin in others], assembly
        )
        with self._lock:
            life, _ = self._serving()
            self._pins[spec.name] = spec
            life.inbox.put(WarmPin(spec.name, tokens))

    def warm(self, spec: PinSpec) -> None:
        """Compute a prefix in the background without keeping it: it stays as long as memory lasts.

        `unpin` cancels it. Raises PinRefused if it cannot be warmed, TemplateError,
        EngineUnavailable.
        """
        with self._lock:
            self._serving()
            formatter = self._formatter
        assert formatter is not None
        tokens = formatter.prefix(spec.messages, spec.tools).tokens
        with self._lock:
            life, assembly = self._serving()
            self._check_warmable(tokens, assembly)
            self._warmed.add(spec.name)
            life.inbox.put(WarmPin(spec.name, tokens, keep=False))

    def unpin(self, name: str) -> None:
        """Let a pin go; its pages become ordinary ones. Raises UnknownPin."""
        with self._lock:
            warmed = name in self._warmed
            self._warmed.discard(name)
            if self._pins.pop(name, None) is None and not warmed:
                raise UnknownPin(f"No pin is called {name}.")
            if self._life is not None:
                self._life.inbox.put(DropPin(name))

    # Inside

    def _set_paused(self, paused: bool) -> None:
        with self._lock:
            self._paused = paused
            if self._life is not None:
                self._life.inbox.put(Pause(paused))

    def _serving(self) -> tuple[EngineLife, Assembly]:
        """The life that serves now. Needs the lock. Raises EngineUnavailable."""
        life = self._life
        if self._state is not EngineState.READY or life is None or life.assembly is None:
            raise EngineUnavailable(self._reason)
        return life, life.assembly

    def _tokens_left(self, request: Request, assembly: Assembly) -> int:
        num_prompt = len(request.prompt.tokens)
        if not num_prompt:
            raise EmptyPrompt("The prompt has no tokens.")
        limits = {
            "context window": assembly.info.context_window,
            "KV budget": assembly.parts.admission.max_tokens,
        }
        name = min(limits, key=lambda key: limits[key])
        left = limits[name] - num_prompt
        least = min(1, request.max_tokens)  # an answer has at least one token
        if left < least:
            raise PromptTooLong(num_prompt, limits[name] - least, name)
        return min(request.max_tokens, left)

    def _retry_after_s(self, snapshot: Snapshot) -> int:
        worked_s = list(self._worked_s)
        mean_s = sum(worked_s) / len(worked_s) if worked_s else 1.0
        wait_s = mean_s * (snapshot.num_waiting + 1) / self._config.max_running
        return max(1, min(MAX_RETRY_AFTER_S, math.ceil(wait_s)))

    def _keep_record(self, record: RequestRecord) -> None:
        """On the engine thread."""
        self._records.append(record)
        self._worked_s.append(record.timings.total_s - record.timings.queue_s)

    def _check_warmable(self, tokens: Sequence[int], assembly: Assembly) -> None:
        info = assembly.info
        if not assembly.parts.cache.enabled:
            raise PinRefused(f"This model's prefixes cannot be reused: {info.attention_reason}.")
        if not tokens:
            raise PinRefused("This prefix has no tokens that every request with it would share.")
        most = min(info.context_window, assembly.parts.admission.max_tokens)
        if len(tokens) > most:
            raise PinRefused(
                f"This prefix has {len(tokens)} tokens; the model and the memory take {most}."
            )

    def _check_pin(
        self, tokens: Sequence[int], others: Sequence[Sequence[int]], assembly: Assembly
    ) -> None:
        self._check_warmable(tokens, assembly)
        budget = int(assembly.parts.admission.budget * self._config.max_pin_share)
        own, cost = assembly.info.cost.prefix_bytes(len(tokens)), assembly.info.cost
        needed = distinct_tokens([*others, tokens]) * cost.bytes_per_token + sum(
            cost.end_bytes(len(prefix)) for prefix in (*others, tokens)
        )
        if needed > budget:
            raise PinRefused(
                f"This pin takes {own} bytes ({len(tokens)} tokens); with the other pins that is"
                f" {needed} bytes of the {budget} bytes that pins may take."
            )

    def _set_state(self, state: EngineState, reason: str = "") -> None:
        """Needs the lock."""
        if (state, reason) != (self._state, self._reason):
            log.info("engine is %s %s", state.value, reason)
        self._state, self._reason = state, reason
        self._changed.notify_all()

    def _on_events(self, events: tuple[Event, ...]) -> None:
        """Pass on what live requests' listeners have not been told the end of."""
        with self._lock:
            kept = tuple(event for event in events if event.request_id in self._live)
            self._live -= {
                event.request_id for event in kept if isinstance(event, Finished | Failed)
            }
        if kept:
            self._deliver(kept)

    def _fail_all(self, reason: str) -> None:
        with self._lock:
            orphans, self._live = sorted(self._live), set()
        if orphans:
            self._deliver(tuple(Failed(request_id, EngineFailed(reason)) for request_id in orphans))

    # The watchdog

    def _supervise(self) -> None:
        delay_s = self._config.restart_delay_s
        while True:
            life = EngineLife(
                self._assembler,
                self._path,
                self._model_id,
                self._config,
                deliver=self._on_events,
                record=self._keep_record,
                metrics=self._metrics,
                counters=self._counters,
                on_ready=self._on_ready,
            )
            with self._lock:
                if self._stopping:
                    self._set_state(EngineState.STOPPED, "The engine is stopped.")
                    return
                self._life = life
            life.start()
            self._watch(life)
            life.join()
            if self._after_life(life):
                return
            delay_s = self._config.restart_delay_s if life.age_s > SOUND_LIFE_S else delay_s
            if life.error is not None:
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, delay_s)
                delay_s = min(MAX_RESTART_DELAY_S, max(0.1, 2 * delay_s))

    def _after_life(self, life: EngineLife) -> bool:
        """Answer everybody after a thread's end and decide what follows. True if nothing does."""
        error = life.error
        with self._lock:
            self._formatter = None
            switched = life.path != self._path
            if self._stopping:
                self._set_state(EngineState.STOPPED, "The engine is stopped.")
            elif isinstance(error, ModelError) and not switched:
                self._set_state(EngineState.FAILED, str(error))
            elif error is not None:
                self._set_state(
                    EngineState.RESTARTING, "The engine stopped working and is being restarted."
                )
        if error is not None:
            self._fail_all(
                "The engine stopped working while it ran this request. It is being restarted."
            )
            log.error("engine thread ended: %s", life.traceback)
        else:
            self._fail_all("The engine was stopped or another model is being loaded.")
        if self._stopping:
            return True
        if isinstance(error, ModelError) and not switched:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or life.path != self._path)
            return False
        if error is not None:
            self._counters.restarts += 1
            self._metrics.restarted()
        return False

    def _watch(self, life: EngineLife) -> None:
        """Until the thread ends: notice when it hangs, and when it moves again."""
        interval_s = min(0.25, self._config.hang_limit_s / 4)
        was_short, told_at = False, 0.0
        while not life.ended.wait(interval_s):
            stuck_s = life.stuck_s()
            short, now = self._memory_is_short(), time.monotonic()
            if short != was_short or (short and now - told_at >= PRESSURE_INTERVAL_S):
                was_short, told_at = short, now
                life.inbox.put(Pressure(short))
            with self._lock:
                state = self._state
                if state is EngineState.HUNG and stuck_s < self._config.hang_limit_s:
                    self._set_state(EngineState.READY)
                hangs = state is EngineState.READY and stuck_s >= self._config.hang_limit_s
                if hangs:
                    self._set_state(
                        EngineState.HUNG, f"The engine has not moved for {stuck_s:.0f} seconds."
                    )
                    for request_id in self._live:
                        life.inbox.put(Cancel(request_id))
            if hangs:
                log.error("engine thread hangs:\n%s", life.where())
                self._fail_all("The engine hangs; this request was given up.")

    def _on_ready(self, life: EngineLife, assembly: Assembly) -> None:
        """On the engine thread, before its first step: open for requests and warm the pins
        again."""
        formatter = ChatFormatter(
            assembly.parts.codec,
            assembly.chat_template,
            assembly.special_tokens,
            self._renderer,
            max_tokens=assembly.info.context_window,
        )
        self._renderer.warm_up()  # the first request should not pay for its start
        with self._lock:
            if self._stopping or life.path != self._path:
                return
            pins = list(self._pins.values())
        warm: list[WarmPin] = []
        for spec in pins:
            try:
                tokens = formatter.prefix(spec.messages, spec.tools).tokens
                self._check_pin(tokens, [pin.tokens for pin in warm], assembly)
                warm.append(WarmPin(spec.name, tokens))
            except EngineError as error:
                log.warning("pin %s cannot be warmed: %s", spec.name, error)
        with self._lock:
            if self._state is EngineState.STOPPING:
                return
            life.inbox.put(Pause(self._paused))
            for command in warm:
                life.inbox.put(command)
            self._metrics.configured(
                page_tokens=self._config.page_tokens,
                bytes_per_token=assembly.info.bytes_per_token,
                kv_budget=assembly.parts.admission.budget,
                weights=assembly.info.weights_bytes,
                dtype=assembly.info.dtype,
                peak_memory=device.peak_memory_bytes,
            )
            self._formatter = formatter
            self._set_state(EngineState.READY)
