"""The only room that calls a model's forward pass. Engine thread only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

from engine.cache.page import Page
from engine.cache.part import Hold, Part, Storage, View
from engine.cache.row import Row
from engine.model import attention, device
from engine.model.head import LastTokenHead
from engine.model.info import AttentionMode, ModelInfo
from engine.model.kv import PartStorage, PrivateStorage
from engine.model.loader import LoadedModel
from engine.model.sampling import Sampler, sample
from engine.request import SamplingParams

# Of the logits' spread. Rounding differs by about 1e-5 in float32 and 1e-2 in half precision, a
# wrong offset by 1.
_PROBE_TOLERANCE_FLOAT32 = 1e-3
_PROBE_TOLERANCE_HALF = 5e-2

# A longer chunk over parts would hold a large score matrix; copying the keys together for the
# model's own fused kernel costs little beside computing so many tokens (design D10).
_MOST_TOKENS_OVER_PARTS = 64


class Runner:
    """Computes KV and next tokens for rows. Every call evaluates what it computed before it
    returns."""

    def __init__(self, loaded: LoadedModel, model_id: str, created: int) -> None:
        self._model: Any = loaded.model
        self._num_layers = len(loaded.layout.layers)
        self._bytes_per_token = self._measure_bytes_per_token()
        self._head = LastTokenHead(self._model)
        mode, reason = self._establish_mode(loaded)
        self._mode = mode
        self.info = ModelInfo(
            id=model_id,
            architecture=str(loaded.config.get("model_type", "")),
            context_window=loaded.context_window,
            vocab_size=loaded.tokenizer.get_vocab_size(),
            num_layers=self._num_layers,
            layers=loaded.layout.describe(),
            bytes_per_token=self._bytes_per_token,
            weights_bytes=loaded.weights_bytes,
            dtype=loaded.dtype,
            quantization=loaded.quantization,
            fingerprint=loaded.fingerprint,
            created=created,
            attention=mode,
            attention_reason=reason,
        )

    def new_storage(self) -> Storage:
        """An empty storage for a row's tail."""
        if self._mode is AttentionMode.PRIVATE:
            return PrivateStorage(make_prompt_cache(self._model), self._bytes_per_token)
        return PartStorage(self._num_layers, self._bytes_per_token)

    def new_sampler(self, params: SamplingParams) -> Sampler:
        return Sampler(params)

    def prefill(self, row: Row, num_tokens: int) -> None:
        """Compute the next `num_tokens` tokens of a row. Their logits are not computed."""
        self._forward([row], num_tokens)
        mx.eval(_states(row))

    def next_tokens(self, rows: Sequence[Row], samplers: Sequence[Sampler]) -> list[int]:
        """Compute all tokens that remain of each row and choose the token after them.

        Rows must have equally many tokens left (one, for rows that decode), or be a single row.
        """
        if self._mode is not AttentionMode.SHARED and len(rows) > 1:
            return [
                self.next_tokens([row], [own])[0] for row, own in zip(rows, samplers, strict=True)
            ]
        with self._head.narrowed():
            logits = self._forward(rows, rows[0].num_uncomputed)[:, -1]
        tokens = sample(logits, samplers)
        mx.eval(tokens, [_states(row) for row in rows])
        chosen: Any = tokens.tolist()
        return [int(token) for token in chosen]

    def logits(self, row: Row) -> mx.array:
        """Compute all tokens that remain of a row; logits after each, [tokens, vocabulary]. For
        gates and tests."""
        logits = self._forward([row], row.num_uncomputed)[0]
        mx.eval(logits, _states(row))
        return logits

    def close(self) -> None:
        """Drop the model."""
        self._model = None

    def _forward(self, rows: Sequence[Row], num_tokens: int) -> mx.array:
        device.adapt()
        starts = [row.num_computed for row in rows]
        tokens = mx.array(
            [list(row.tokens[at : at + num_tokens]) for row, at in zip(rows, starts, strict=True)]
        )
        logits: mx.array = self._model(tokens, cache=self._caches(rows, num_tokens))
        for row in rows:
            if isinstance(row.tail.storage, PrivateStorage):
                row.tail.storage.num_tokens += num_tokens
        return logits

    def _caches(self, rows: Sequence[Row], num_tokens: int) -> Sequence[Any]:
        if len(rows) == 1:
            row = rows[0]
            if isinstance(row.tail.storage, PrivateStorage):
                return row.tail.storage.layers
            if not row.hold.views and isinstance(row.tail.storage, PartStorage):
                return row.tail.storage.layers  # nothing shared: the model's own fused path
            if self._mode is AttentionMode.COPIES or num_tokens > _MOST_TOKENS_OVER_PARTS:
                return attention.joined_caches(row)
        return attention.rows_caches(rows)

    # What the model can do, found out by trying

    def _establish_mode(self, loaded: LoadedModel) -> tuple[AttentionMode, str]:
        if not loaded.layout.reusable:
            return AttentionMode.PRIVATE, f"its layers are {loaded.layout.describe()}"
        failures = []
        tolerance = _PROBE_TOLERANCE_FLOAT32 if loaded.dtype == "float32" else _PROBE_TOLERANCE_HALF
        for mode in (AttentionMode.SHARED, AttentionMode.COPIES):
            self._mode = mode
            try:
                if mode is AttentionMode.SHARED:
                    self._install_rows()
                deviation = self._probe()
            except Exception as error:  # a model may refuse foreign caches in any way it likes
                failures.append(f"{mode.value}: {type(error).__name__}")
                continue
            if deviation <= tolerance:
                return mode, "; ".join(failures)
            failures.append(f"{mode.value}: logits differ by {deviation:.2g} of their spread")
        return AttentionMode.PRIVATE, "; ".join(failures)

    def _install_rows(self) -> None:
        found = 0
        for module in {type(m).__module__ for m in self._model.modules()}:
            source = sys.modules[module]
            if module.startswith("mlx_lm.models.") and hasattr(
                source, "scaled_dot_product_attention"
            ):
                attention.install(source)
                found += 1
        if not found:
            raise TypeError("no attention function to install rows in")

    def _probe(self) -> float:
        """Largest difference between two rows on one shared part and the same tokens run alone, in
        units of the logits' standard deviation."""
        prefix, ends = list(range(5, 24)), [[30, 7], [8, 31]]
        fresh = [
            self._model(mx.array([prefix + end]), cache=make_prompt_cache(self._model))[0, -1]
            for end in ends
        ]
        leader = _bare_row(prefix, None, self.new_storage())
        self.prefill(leader, len(prefix))
        leader.tail.storage.seal()
        rows = [
            _bare_row(prefix + end, View(leader.tail, len(prefix)), self.new_storage())
            for end in ends
        ]
        batches = [rows] if self._mode is AttentionMode.SHARED else [[row] for row in rows]
        logits: list[mx.array] = []
        for _ in range(2):  # both tokens one by one: the second finds the first in the tail
            logits = [out for batch in batches for out in self._forward(batch, 1)[:, -1]]
            mx.eval(logits)
        difference = mx.stack(logits).astype(mx.float32) - mx.stack(fresh).astype(mx.float32)
        spread = mx.stack(fresh).astype(mx.float32).std()
        deviation: Any = (mx.abs(difference).max() / spread).item()
        return float(deviation)

    def _measure_bytes_per_token(self) -> int:
        caches = make_prompt_cache(self._model)
        mx.eval(self._model(mx.array([[5, 6]]), cache=caches))
        return sum(_bytes_per_token(cache) for cache in caches)


def _bytes_per_token(cache: Any) -> int:
    keys = getattr(cache, "keys", None)
    if keys is None:
        return 0
    return int((keys.nbytes + cache.values.nbytes) // keys.shape[2])


def _states(row: Row) -> list[Any]:
    return [layer.state for layer in getattr(row.tail.storage, "layers", ())]


def _bare_row(tokens: list[int], view: View | None, storage: Storage) -> Row:
    """A row outside any cache, for the probe."""
    hold = Hold("probe")
    if view is not None:
        hold.add(view)
    tail = Part(view.end if view else 0, view.part if view else None, storage)
    return Row(tokens, Page(None, b"", None, None), hold, tail)
