"""Gemma 3 in plain NumPy, written from the architecture and not from any program, to compare with.

Names and numbers are those of a GGUF file: norm weights have their 1 added. Every token sees all
before it, so a text must fit into the sliding window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Gemma3Reference:
    """`weight` gives a tensor by its GGUF name, as float32 (outputs, inputs)."""

    weight: Callable[[str], Floats]
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    layers_per_full: int
    epsilon: float = 1e-6
    local_theta: float = 10_000.0
    full_theta: float = 1_000_000.0

    def logits(self, tokens: list[int]) -> Floats:
        """(tokens, vocabulary) float32."""
        embedding = self.weight("token_embd.weight")
        hidden_size = embedding.shape[1]
        x = embedding[tokens] * _bfloat16(np.sqrt(np.float32(hidden_size)))
        for layer in range(self.num_layers):
            attended = self._attention(layer, self._norm(x, f"blk.{layer}.attn_norm"))
            x = x + self._norm(attended, f"blk.{layer}.post_attention_norm")
            fed = self._feed_forward(layer, self._norm(x, f"blk.{layer}.ffn_norm"))
            x = x + self._norm(fed, f"blk.{layer}.post_ffw_norm")
        return self._norm(x, "output_norm") @ embedding.T

    def _norm(self, x: Floats, name: str) -> Floats:
        mean_square = np.mean(x * x, axis=-1, keepdims=True, dtype=np.float32)
        return x / np.sqrt(mean_square + np.float32(self.epsilon)) * self.weight(f"{name}.weight")

    def _project(self, x: Floats, name: str) -> Floats:
        return x @ self.weight(f"{name}.weight").T

    def _attention(self, layer: int, x: Floats) -> Floats:
        block, num_tokens = f"blk.{layer}", len(x)
        is_full = (layer + 1) % self.layers_per_full == 0
        theta = self.full_theta if is_full else self.local_theta
        queries = self._project(x, f"{block}.attn_q").reshape(num_tokens, self.num_heads, -1)
        keys = self._project(x, f"{block}.attn_k").reshape(num_tokens, self.num_kv_heads, -1)
        values = self._project(x, f"{block}.attn_v").reshape(num_tokens, self.num_kv_heads, -1)
        queries = _rotated(self._norm(queries, f"{block}.attn_q_norm"), theta)
        keys = _rotated(self._norm(keys, f"{block}.attn_k_norm"), theta)
        hidden_from = np.triu(np.ones((num_tokens, num_tokens), bool), k=1)
        heads = []
        for head in range(self.num_heads):
            shared = head * self.num_kv_heads // self.num_heads
            scores = queries[:, head] @ keys[:, shared].T / np.sqrt(np.float32(self.head_dim))
            weights = _softmax(np.where(hidden_from, np.float32(-np.inf), scores))
            heads.append(weights @ values[:, shared])
        return self._project(np.concatenate(heads, axis=-1), f"{block}.attn_output")

    def _feed_forward(self, layer: int, x: Floats) -> Floats:
        gate = self._project(x, f"blk.{layer}.ffn_gate")
        inner = np.sqrt(np.float32(2 / np.pi)) * (gate + np.float32(0.044715) * gate**3)
        gelu = np.float32(0.5) * gate * (1 + np.tanh(inner))
        gated = gelu * self._project(x, f"blk.{layer}.ffn_up")
        return self._project(gated, f"blk.{layer}.ffn_down")


def _rotated(x: Floats, theta: float) -> Floats:
    """RoPE over (tokens, heads, size): number i of the first half turns with number i of the
    second.
    """
    num_tokens, _, size = x.shape
    frequencies = theta ** -(np.arange(0, size, 2) / size)
    angles = (np.arange(num_tokens)[:, None] * frequencies)[:, None, :]
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = x[..., : size // 2], x[..., size // 2 :]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def _softmax(scores: Floats) -> Floats:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _bfloat16(value: np.float32) -> np.float32:
    """Gemma scales its embeddings by a number rounded to 8 significant bits."""
    bits = int(np.float32(value).view(np.uint32))
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.uint32(rounded).view(np.float32)
