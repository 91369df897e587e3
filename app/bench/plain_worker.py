"""The process behind `app.bench.plain`: JSON lines in on stdin, one reply each out on stdout.

The first line out is the facts. Then, for each {"do": ...} of encode, cold, place and extend, the
result, or {"error"} with a message. It ends with its stdin.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from engine.assembly import leave_thread
from engine.errors import EngineError
from engine.model import device
from engine.prompt.chat import ChatFormatter, Message
from engine.prompt.codec import TextCodec
from engine.prompt.template import TemplateRenderer

if TYPE_CHECKING:
    from engine.model.plain import PlainModel


def main(path: Path) -> int:
    """Serve until stdin ends. Returns the exit code."""
    replies = _take_stdout()
    renderer = TemplateRenderer()
    try:
        _serve(path, renderer, sys.stdin, replies)
    except EngineError as error:
        _send(replies, {"error": str(error)})
        return 1
    finally:
        renderer.close()
        gc.collect()  # modules of a model refer to each other, and no array may outlive its thread
        leave_thread()
    return 0


def _serve(
    path: Path, renderer: TemplateRenderer, requests: Iterable[str], replies: TextIO
) -> None:
    # Both sides must have the same BLAS, and MLX finds it only if it is loaded first.
    device.prepare()
    from engine.model.loader import load
    from engine.model.plain import PlainModel

    loaded = load(path)
    chunk = device.default_prefill_chunk()
    model = PlainModel(loaded.model, chunk)
    formatter = ChatFormatter(
        TextCodec(loaded.tokenizer), loaded.chat_template, loaded.special_tokens, renderer
    )
    facts = {
        "device": asdict(device.describe()),
        "prefill_chunk": chunk,
        "context_window": loaded.context_window,
        "dtype": loaded.dtype,
    }
    _send(replies, facts)
    for line in requests:
        try:
            reply = _answer(json.loads(line), model, formatter)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        _send(replies, reply)


def _answer(
    request: Mapping[str, Any], model: PlainModel, formatter: ChatFormatter
) -> dict[str, object]:
    match request["do"]:
        case "encode":
            messages = [Message(**message) for message in request["messages"]]
            return {"tokens": formatter.format(messages).tokens}
        case "cold":
            return {"seconds": model.cold(request["tokens"])}
        case "place":
            model.place(request["prefix"], request["suffix"])
            return {}
        case "extend":
            return {"seconds": model.extend(request["suffix"])}
        case unknown:
            raise ValueError(f"nothing is called {unknown!r}")


def _take_stdout() -> TextIO:
    """Keep stdout for replies alone: what a library prints goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _send(replies: TextIO, reply: Mapping[str, object]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
