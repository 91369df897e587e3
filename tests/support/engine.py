"""Engines over the fake runner: real threads, real cache, real schedule, no model."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine.assembly import Assembly
from engine.cache.cost import KVCost
from engine.config import EngineConfig
from engine.engine import Engine
from engine.loop import LoopParts
from engine.metrics import EngineMetrics
from engine.model.info import AttentionMode, ModelInfo
from engine.prompt.codec import TextCodec
from engine.request import (
    Event,
    Failed,
    Finished,
    Priority,
    Prompt,
    Request,
    SamplingParams,
    Segment,
    Started,
    Text,
)
from engine.schedule.admission import Admission
from engine.schedule.scheduler import Scheduler
from tests.support.cache import make_cache
from tests.support.fake_runner import (
    BYTES_PER_TOKEN,
    STEP_TOKENS,
    VOCABULARY,
    FakeRunner,
    FakeStorage,
)

TEMPLATE = (
    "{% for message in messages %}t1 {{ message['content'] }} t2 {% endfor %}"
    "{% if add_generation_prompt %}t3 {% endif %}"
)
CONTEXT_WINDOW = 4096
EOS = 0


def word_tokenizer() -> Tokenizer:
    """Token n is the word "tn"; a few other words are known too, so that they differ from each
    other."""
    words = [f"t{n}" for n in range(VOCABULARY)] + ["a", "0", ".", "가"]
    tokenizer = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="t0")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def word_codec() -> TextCodec:
    return TextCodec(word_tokenizer())


def fake_assembly(
    runner: FakeRunner,
    config: EngineConfig,
    model_id: str = "fake",
    eos_ids: frozenset[int] = frozenset({EOS}),
    close: Callable[[], None] = lambda: None,
) -> Assembly:
    cache = make_cache(
        config.page_tokens, config.match_unit, new_storage=lambda: FakeStorage(STEP_TOKENS)
    )
    admission = Admission(cache, config.kv_budget_bytes or 100_000 * BYTES_PER_TOKEN)
    scheduler = Scheduler(
        cache,
        admission,
        max_running=config.max_running,
        prefill_chunk=config.prefill_chunk or 256,
        step_target_s=config.step_target_s or 1.0,
    )
    info = ModelInfo(
        id=model_id,
        architecture="fake",
        context_window=CONTEXT_WINDOW,
        vocab_size=VOCABULARY,
        num_layers=1,
        layers="1 full attention",
        cost=KVCost(BYTES_PER_TOKEN),
        weights_bytes=0,
        dtype="float32",
        quantization="",
        fingerprint="fake",
        created=0,
        attention=AttentionMode.SHARED,
    )
    parts = LoopParts(runner, cache, admission, scheduler, word_codec(), eos_ids, model_id)
    return Assembly(info, parts, TEMPLATE, {}, close=close)


def request(
    request_id: str,
    tokens: list[int],
    max_tokens: int = 4,
    *,
    stop: tuple[str, ...] = (),
    salt: str = "",
    priority: Priority = Priority.INTERACTIVE,
    client: str = "",
    ttft_target_s: float | None = None,
    deadline_s: float | None = None,
    segments: Sequence[Segment] = (),
) -> Request:
    greedy = SamplingParams(temperature=0.0)
    return Request(
        request_id,
        Prompt(tuple(tokens), tuple(segments)),
        max_tokens,
        sampling=greedy,
        stop=stop,
        salt=salt,
        priority=priority,
        client=client,
        ttft_target_s=ttft_target_s,
        deadline_s=deadline_s,
    )


class Listener:
    """Collects events by request; `wait` blocks until a request has ended."""

    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = defaultdict(list)
        self.threads: set[str] = set()
        self._changed = threading.Condition()

    def __call__(self, events: tuple[Event, ...]) -> None:
        with self._changed:
            self.threads.add(threading.current_thread().name)
            for event in events:
                self.events[event.request_id].append(event)
            self._changed.notify_all()

    def wait(self, request_id: str, timeout_s: float = 20.0) -> Finished | Failed:
        """The last event of a request."""
        return self._wait_for(
            request_id, lambda event: isinstance(event, Finished | Failed), timeout_s
        )  # type: ignore[return-value]

    def wait_started(self, request_id: str, timeout_s: float = 20.0) -> Started:
        return self._wait_for(request_id, lambda event: isinstance(event, Started), timeout_s)  # type: ignore[return-value]

    def text(self, request_id: str) -> str:
        return "".join(event.text for event in self.events[request_id] if isinstance(event, Text))

    def tokens(self, request_id: str) -> list[int]:
        """Tokens of the answer, read back from its text."""
        return [int(word) for word in self.text(request_id).split("t") if word]

    def _wait_for(
        self, request_id: str, wanted: Callable[[Event], bool], timeout_s: float
    ) -> Event:
        def found() -> Event | None:
            return next((event for event in self.events[request_id] if wanted(event)), None)

        with self._changed:
            assert self._changed.wait_for(lambda: found() is not None, timeout_s), (
                f"{request_id}: nothing in time"
            )
            event = found()
            assert event is not None
            return event


@contextmanager
def running_engine(
    config: EngineConfig | None = None,
    runner: FakeRunner | None = None,
    eos_ids: frozenset[int] = frozenset({EOS}),
    model_id: str = "fake",
    memory_is_short: Callable[[], bool] = lambda: False,
    close: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Engine, FakeRunner, Listener]]:
    """An engine over one fake runner, ready to serve; stopped afterwards."""
    config = config or EngineConfig(check_integrity=True)
    runner = runner or FakeRunner()
    listener = Listener()
    engine = Engine(
        Path(model_id),
        config,
        model_id=model_id,
        deliver=listener,
        metrics=EngineMetrics(model_id),
        assembler=lambda path, name, settings: fake_assembly(
            runner, settings, name, eos_ids, close
        ),
        memory_is_short=memory_is_short,
    )
    engine.start()
    try:
        assert engine.wait_until_ready(20).ok
        yield engine, runner, listener
    finally:
        assert engine.stop(20)
