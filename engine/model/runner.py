"""The only room that calls a model's forward pass. Engine thread only."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

from engine.cache.part import Storage
from engine.cache.row import Row
from engine.errors import StepFailed
from engine.model import device
from engine.model.caches import BatchCaches, starts_without_state
from engine.model.common_tail import CommonTail, common_tails
from engine.model.forward_pass import ForwardPass
from engine.model.head import LastTokenHead, last_tokens
from engine.model.info import AttentionMode, ModelInfo
from engine.model.kv import PartStorage, PrivateStorage, Shape
from engine.model.loader import LoadedModel
from engine.model.measure import measure
from engine.model.probe import establish
from engine.model.rotation import rotations
from engine.model.sampling import Sampler, sample
from engine.request import SamplingParams


class Runner:
    """Computes KV and next tokens for rows. Every call evaluates what it computed before it
    returns.

    A call that fails raises StepFailed and leaves every row where it stood, but for those it names
    as lost.
    """

    def __init__(
        self, loaded: LoadedModel, model_id: str, created: int, prefill_chunk: int = 256
    ) -> None:
        self._model: Any = loaded.model
        self._layout = loaded.layout
        self._shape: Shape = measure(self._model, loaded.layout, prefill_chunk)
        self._head = LastTokenHead(self._model)
        self._rotations = rotations(self._model, loaded.layout)
        self._mode, reason = establish(self, loaded)
        self.info = ModelInfo(
            id=model_id,
            architecture=str(loaded.config.get("model_type", "")),
            context_window=loaded.context_window,
            vocab_size=loaded.tokenizer.get_vocab_size(),
            num_layers=len(loaded.layout.layers),
            layers=loaded.layout.describe(),
            cost=self._shape.cost,
            weights_bytes=loaded.weights_bytes,
            dtype=loaded.dtype,
            quantization=loaded.quantization,
            fingerprint=loaded.fingerprint,
            created=created,
            attention=self._mode,
            attention_reason=reason,
        )

    @property
    def mode(self) -> AttentionMode:
        """How rows run. Set by the probe while it tries."""
        return self._mode

    @mode.setter
    def mode(self, mode: AttentionMode) -> None:
        self._mode = mode

    @property
    def model(self) -> Any:
        """The model itself, for comparisons on the same weights: where they lie in memory is worth
        3 % of a step from one loading to the next."""
        return self._model

    def new_storage(self) -> Storage:
        """An empty storage for the tail of a row that stands on nothing."""
        if self._mode is AttentionMode.PRIVATE:
            return PrivateStorage(make_prompt_cache(self._model), self._shape.cost.bytes_per_token)
        return PartStorage(self._shape)

    def new_sampler(self, params: SamplingParams) -> Sampler:
        return Sampler(params)

    def prefill(self, row: Row, num_tokens: int) -> None:
        """Compute the next `num_tokens` tokens of a row. Their logits are not computed."""
        with self._step([row], [num_tokens]) as step:
            self._forward(step)
            mx.eval(step.arrays())

    def batches(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Rows by the passes they can share: all in one, if the model and their states allow."""
        if self._mode is not AttentionMode.SHARED:
            return [[row] for row in rows]
        if not self._shape.cost.recurrent:
            return [list(rows)]
        alike: dict[object, list[Row]] = {}  # states are stacked: all have one, and equal steps
        for row in rows:
            kind = row if starts_without_state(row) else row.num_uncomputed
            alike.setdefault(kind, []).append(row)
        return list(alike.values())

    def next_tokens(
        self, rows: Sequence[Row], samplers: Sequence[Sampler], spare_bytes: int = 0
    ) -> list[int]:
        """Compute all tokens that remain of each row and choose the token after them.

        Rows must be a single one, or one of the `batches`. No more than `spare_bytes` are allocated
        beside what their storages say they grow by.
        """
        counts = [row.num_uncomputed for row in rows]
        with self._step(rows, counts, spare_bytes) as step:
            with self._head.narrowed(counts):
                logits = self._forward(step)
            if not self._head.found:
                logits = last_tokens(logits, counts)
            tokens = sample(logits[:, -1], samplers)
            mx.eval(tokens, step.arrays())
        chosen: Any = tokens.tolist()
        return [int(token) for token in chosen]

    def logits(self, row: Row) -> mx.array:
        """Compute all tokens that remain of a row; logits after each, [tokens, vocabulary]. For
        gates and tests."""
        counts = [row.num_uncomputed]
        with self._step([row], counts) as step:
            logits = self._forward(step)[0]
            mx.eval(logits, step.arrays())
        return logits

    def rows_logits(self, rows: Sequence[Row]) -> mx.array:
        """Compute all tokens that remain of each row; logits after the last of each, [rows,
        vocabulary]. For gates and the probe."""
        counts = [row.num_uncomputed for row in rows]
        with self._step(rows, counts) as step:
            logits = last_tokens(self._forward(step), counts)[:, -1]
            mx.eval(logits, step.arrays())
        return logits

    def fresh_logits(self, tokens: Sequence[int]) -> mx.array:
        """Logits after each token, [tokens, vocabulary], by mlx-lm alone in one pass."""
        logits: mx.array = self._model(
            mx.array([list(tokens)]), cache=make_prompt_cache(self._model)
        )[0]
        mx.eval(logits)
        return logits

    def free_unused(self) -> None:
        """Give the memory of dropped arrays back to the machine."""
        device.free_unused()

    def close(self) -> None:
        """Drop the model."""
        self._model = None

    @contextmanager
    def _step(
        self, rows: Sequence[Row], counts: Sequence[int], spare_bytes: int = 0
    ) -> Iterator[ForwardPass]:
        """A pass of these rows, to be evaluated inside."""
        step = ForwardPass(rows, counts, self._in_common(rows, counts, spare_bytes))
        try:
            yield step
        except Exception as error:
            report = traceback.format_exc()
            traceback.clear_frames(error.__traceback__)
            raise StepFailed(type(error).__name__, step.undo(), report) from error
        step.settle()

    def _in_common(
        self, rows: Sequence[Row], counts: Sequence[int], spare_bytes: int
    ) -> list[CommonTail]:
        """Tails that rows have in common in a pass."""
        if self._mode is not AttentionMode.SHARED:
            return []
        try:
            return common_tails(rows, counts, spare_bytes)
        except Exception as error:
            report = traceback.format_exc()
            traceback.clear_frames(error.__traceback__)
            raise StepFailed(type(error).__name__, frozenset(), report) from error

    def _forward(self, step: ForwardPass) -> mx.array:
        """Logits [rows, most tokens of any row, vocabulary]; behind a shorter row's own they mean
        nothing."""
        device.adapt()
        rows, counts = step.rows, step.counts
        width = max(counts)
        tokens = mx.array(
            [
                [*row.tokens[row.num_computed : row.num_computed + count], *[0] * (width - count)]
                for row, count in zip(rows, counts, strict=True)
            ]
        )
        storage = rows[0].tail.storage
        if isinstance(storage, PrivateStorage):
            logits: mx.array = self._model(tokens, cache=storage.leaves)
            return logits
        caches = BatchCaches(
            self._layout,
            rows,
            counts,
            in_place=self._mode is AttentionMode.SHARED,
            rotations=self._rotations,
            commons=step.commons,
        )
        logits = self._model(tokens, cache=caches.layers)
        caches.scatter()
        return logits
