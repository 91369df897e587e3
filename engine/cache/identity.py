"""Names for KV: digests chained from a root digest (design D3, algorithms §2.1).

Two pages may share KV only if their digests are equal, so everything that makes KV incompatible
enters the root digest, and everything before a page enters the page's digest through its parent.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import NewType

Digest = NewType("Digest", bytes)

_VERSION = b"ondol-kv-1"


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What makes one model's KV unusable for another.

    `weights` is a fingerprint of the weight files, `tokenizer` one of the tokenizer's files;
    `layout` describes the cache classes of the layers in order. Session and client are not identity
    (oracle A19).
    """

    weights: str
    tokenizer: str
    quantization: str = ""
    kv_dtype: str = ""
    rope: str = ""
    layout: str = ""
    adapter: str = ""


@functools.lru_cache(maxsize=1024)  # asked for at every look-up
def root_digest(identity: ModelIdentity, salt: str = "") -> Digest:
    """Digest (32 bytes) of the empty prefix. Every field is tagged, so adapter "foo" differs from
    salt "foo" (B7)."""
    hasher = hashlib.sha256(_VERSION)
    fields = {name: getattr(identity, name) for name in identity.__slots__} | {"salt": salt}
    for name, value in fields.items():
        data = value.encode()
        hasher.update(b"%s:%d:" % (name.encode(), len(data)))
        hasher.update(data)
    return Digest(hasher.digest())


def page_digest(parent: Digest, key: bytes) -> Digest:
    """Digest of a full page from its parent's digest and its tokens as int32 bytes."""
    return Digest(hashlib.sha256(parent + key).digest())
