"""The process behind `app.bench.plain`: JSON lines in on stdin, one reply each out on stdout.

The first line out is the facts. Then, for each {"do": ...} of encode, cold, place and extend, the
result, or {"error"} with a message. It ends with its stdin.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.bench import worker
from app.bench.worker import Replies
from engine.model import device
from engine.prompt.chat import ChatFormatter, Message
from engine.prompt.codec import TextCodec
from engine.prompt.template import TemplateRenderer

if TYPE_CHECKING:
    from engine.model.plain import PlainModel


def main(path: Path) -> int:
    """Serve until stdin ends. Returns the exit code."""
    return worker.run(lambda replies: _serve(path, sys.stdin, replies))


def _serve(path: Path, requests: Iterable[str], replies: Replies) -> None:
    # Both sides must have the same BLAS, and MLX finds it only if it is loaded first.
    device.prepare()
    from engine.model.loader import load
    from engine.model.plain import PlainModel

    loaded = load(path)
    model = PlainModel(loaded.model, device.default_prefill_chunk())
    replies.facts(loaded.dtype, loaded.context_window)
    with contextlib.closing(TemplateRenderer()) as renderer:
        formatter = ChatFormatter(
            TextCodec(loaded.tokenizer), loaded.chat_template, loaded.special_tokens, renderer
        )
        for line in requests:
            try:
                reply = _answer(json.loads(line), model, formatter)
            except Exception as error:
                reply = {"error": f"{type(error).__name__}: {error}"}
            replies.send(reply)


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


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
