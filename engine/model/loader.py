"""From a model folder to a model that can run: weights, tokenizer, identity. Engine thread only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import tokenizers
from mlx.nn.layers.base import Module
from mlx.utils import tree_flatten
from mlx_lm.models import cache as mlx_cache
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import dequantize_model, load_model, load_tokenizer

from engine.cache.identity import ModelIdentity
from engine.cache.layout import Layer, LayerKind, Layout
from engine.errors import ModelError
from engine.model import catalog, device

DEFAULT_CONTEXT_WINDOW = 4096
_SAMPLE_BYTES = 64 * 1024
_SAMPLES = 64


@dataclass(slots=True)
class LoadedModel:
    """A model in memory with everything needed to run it. `tokenizer` is safe to use from any
    thread."""

    path: Path
    model: Module
    config: Mapping[str, Any]
    tokenizer: tokenizers.Tokenizer
    chat_template: str | None
    special_tokens: dict[str, str]
    eos_ids: frozenset[int]
    layout: Layout
    identity: ModelIdentity
    fingerprint: str
    quantization: str
    dtype: str
    weights_bytes: int

    @property
    def context_window(self) -> int:
        """Tokens the model was made for."""
        text = self.config.get("text_config", self.config)
        window = self.config.get("max_position_embeddings") or text.get("max_position_embeddings")
        return int(window or DEFAULT_CONTEXT_WINDOW)


def load(path: Path) -> LoadedModel:
    """Load an mlx-lm model folder. Never runs code from it and never reaches the network.

    On a CPU a quantised or half-precision model is turned to float32, because only float32 is fast
    there. Raises ModelError with a message for people.
    """
    catalog.check_folder(path)
    try:
        model, config = load_model(path)
        wrapper = load_tokenizer(  # type: ignore[no-untyped-call]
            path, eos_token_ids=_listed(config.get("eos_token_id"))
        )
    except ModelError:
        raise
    except (Exception, SystemExit) as error:  # some of mlx-lm's modules exit on import
        raise ModelError(f"The model {path.name} cannot be loaded: {_first_line(error)}") from error
    quantization = _describe_quantization(config)
    if device.kind() == "cpu":
        model = _to_float32(model)
    layout = layout_of(model)
    weights = _parameters(model)
    dtype = _compute_dtype(model)
    fingerprint = weights_fingerprint(path)
    hf_tokenizer = wrapper._tokenizer
    backend = getattr(hf_tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            f"The tokenizer of {path.name} has no fast form; Ondol needs a tokenizer.json."
        )
    return LoadedModel(
        path=path,
        model=model,
        config=config,
        tokenizer=backend,
        chat_template=_chat_template(hf_tokenizer),
        special_tokens={
            name: str(token)
            for name, token in hf_tokenizer.special_tokens_map.items()
            if isinstance(token, str)
        },
        eos_ids=frozenset(int(token) for token in wrapper.eos_token_ids),
        layout=layout,
        identity=ModelIdentity(
            weights=fingerprint,
            tokenizer=_digest_of(
                path, ("tokenizer.json", "tokenizer_config.json", "tokenizer.model")
            ),
            quantization=quantization,
            kv_dtype=dtype,
            rope=json.dumps({k: v for k, v in sorted(config.items()) if "rope" in k}, default=str),
            layout=layout.identity(),
        ),
        fingerprint=fingerprint,
        quantization=quantization,
        dtype=dtype,
        weights_bytes=sum(array.nbytes for array in weights.values()),
    )


def layout_of(model: Module) -> Layout:
    """The kinds of a model's layers, read off the caches it makes."""
    return Layout(tuple(_layer_of(cache) for cache in make_prompt_cache(model)))


def _layer_of(cache: Any) -> Layer:
    name = type(cache).__name__
    # The very classes: a subclass may keep its past in another way.
    if type(cache) is mlx_cache.KVCache:
        return Layer(LayerKind.FULL, name)
    if type(cache) is mlx_cache.RotatingKVCache and not cache.keep:
        return Layer(LayerKind.SLIDING, name, window=int(cache.max_size))
    if type(cache) is mlx_cache.ArraysCache:
        return Layer(LayerKind.RECURRENT, name)
    if type(cache) is mlx_cache.CacheList:
        return Layer(LayerKind.COMPOSITE, name, inner=tuple(map(_layer_of, cache.caches)))
    return Layer(LayerKind.OTHER, name)


def weights_fingerprint(path: Path) -> str:
    """Hex digest of a model folder's config and weights: sizes, headers and samples spread over
    each weight file, which tells any two models apart without reading gigabytes."""
    hasher = hashlib.sha256()
    for file in [path / "config.json", *sorted(path.glob("*.safetensors"))]:
        size = file.stat().st_size
        hasher.update(f"{file.name}:{size};".encode())
        with file.open("rb") as stream:
            step = max(_SAMPLE_BYTES, size // _SAMPLES)
            for offset in range(0, size, step):
                stream.seek(offset)
                hasher.update(stream.read(_SAMPLE_BYTES))
    return hasher.hexdigest()


def _parameters(model: Module) -> dict[str, mx.array]:
    flat: Any = tree_flatten(model.parameters())  # type: ignore[no-untyped-call]
    return dict(flat)


def _to_float32(model: Module) -> Module:
    model = dequantize_model(model)
    model.set_dtype(mx.float32)
    mx.eval(list(_parameters(model).values()))
    return model


def _compute_dtype(model: Module) -> str:
    """Dtype of activations and KV: that of the norms, which stay unquantised."""
    for name, array in _parameters(model).items():
        if "norm" in name:
            return str(array.dtype).removeprefix("mlx.core.")
    return "float32"


def _describe_quantization(config: Mapping[str, Any]) -> str:
    settings = config.get("quantization")
    if not isinstance(settings, Mapping):
        return ""
    return f"{settings.get('bits')}-bit, groups of {settings.get('group_size')}"


def _chat_template(tokenizer: Any) -> str | None:
    template = tokenizer.chat_template
    if isinstance(template, Mapping):
        template = template.get("default")
    return template if isinstance(template, str) else None


def _listed(value: Any) -> list[int] | None:
    if value is None:
        return None
    return list(value) if isinstance(value, list) else [value]


def _digest_of(path: Path, names: tuple[str, ...]) -> str:
    hasher = hashlib.sha256()
    for name in names:
        file = path / name
        if file.is_file():
            hasher.update(name.encode() + b":" + file.read_bytes())
    return hasher.hexdigest()


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
