"""The answer's text, token by token: whole characters only, and never a part of a stop string."""

from __future__ import annotations

from engine.prompt.codec import TextCodec

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# A UTF-8 character has at most 4 bytes, and a token with text has at least one: an unfinished
# character is at most 3 tokens and, in decoders that mark every byte, at most 3 marks.
_MAX_UNFINISHED = 3
_MAX_PENDING = 8


class TextStream:
    """Text of one answer, safe to show as it comes (server cases 1, 3, 4). One thread at a time.

    Everything that `push` and `finish` return, joined, is the decoded tokens cut exactly before
    the stop string that begins first. Empty stop strings are ignored. A byte-fallback decoder
    turns a whole run of byte tokens into U+FFFD when its end is broken; characters that were
    complete before that are kept as they were shown.
    """

    def __init__(self, codec: TextCodec, stop: tuple[str, ...] = ()) -> None:
        self._detokenizer = _Detokenizer(codec)
        self._scanner = _StopScanner(stop)

    @property
    def stopped(self) -> bool:
        """A stop string was found; the text is complete and later tokens add nothing."""
        return self._scanner.stopped

    def push(self, token_id: int) -> str:
        """Text that may be shown now, possibly empty."""
        if self.stopped:
            return ""
        return self._scanner.push(self._detokenizer.push(token_id))

    def finish(self) -> str:
        """The rest of the text: what was held back and turned out to be no stop string.

        An unfinished character becomes U+FFFD.
        """
        return self._scanner.push(self._detokenizer.finish()) + self._scanner.finish()


class _Detokenizer:
    """Decodes a short window of tokens, so that a token costs the same at any length.

    `context` is the latest stretch already shown (decoders treat a text's first token differently),
    `pending` the tokens after it, of whose text the first `shown` characters are out.
    """

    def __init__(self, codec: TextCodec) -> None:
        self._codec = codec
        self._context: list[int] = []
        self._context_text = ""
        self._pending: list[int] = []
        self._shown = 0

    def push(self, token_id: int) -> str:
        if self._codec.is_silent(token_id):
            return ""
        self._pending.append(token_id)
        text = self._pending_text()
        settled = len(text) - _num_unsettled(text)
        num_tokens = num_chars = 0
        if settled == len(text) > 0:
            num_tokens, num_chars = len(self._pending), len(text)
        elif len(self._pending) > _MAX_PENDING:
            num_tokens, num_chars = self._broken_head(len(text))
        settled = max(settled, num_chars)
        new = text[self._shown : settled]
        self._shown = max(self._shown, settled)
        if num_tokens:
            self._advance(num_tokens, num_chars)
        return new

    def finish(self) -> str:
        rest = self._pending_text()[self._shown :]
        self._pending, self._shown = [], 0
        return rest

    def _pending_text(self) -> str:
        text = self._codec.decode(self._context + self._pending)
        if not text.startswith(self._context_text):
            # A byte-fallback run that was whole became broken: what was shown stays.
            self._context, self._context_text = [], ""
            text = self._codec.decode(self._pending)
        return text[len(self._context_text) :]

    def _advance(self, num_tokens: int, num_chars: int) -> None:
        """The first pending tokens, whose text has this many characters, become the context."""
        self._context, self._pending = self._pending[:num_tokens], self._pending[num_tokens:]
        self._context_text = self._codec.decode(self._context)
        self._shown -= num_chars

    def _broken_head(self, num_chars: int) -> tuple[int, int]:
        """Tokens and characters at the window's head that nothing to come can change.

        Bytes that never become characters must not let the window grow. It may be cut where no
        character spans the cut: decoded apart, the two sides give the text they give together.
        What may still become a character stays on the right.
        """
        whole = self._codec.decode(self._pending)
        last = len(self._pending) - _MAX_UNFINISHED
        for cut in range(last, last - _MAX_UNFINISHED - 1, -1):
            right = self._codec.decode(self._pending[cut:])
            if self._codec.decode(self._pending[:cut]) + right == whole:
                return cut, num_chars - len(right)
        return 0, 0


def _num_unsettled(text: str) -> int:
    """Marks at the text's end that may stand for an unfinished character."""
    tail = text[-_MAX_UNFINISHED:]
    return len(tail) - len(tail.rstrip(_REPLACEMENT))


class _StopScanner:
    """Cuts text before the stop string that begins first; holds back what could become one."""

    def __init__(self, stop: tuple[str, ...]) -> None:
        self._stop = tuple(text for text in stop if text)
        self._first_chars = frozenset(text[0] for text in self._stop)
        self._longest = max(map(len, self._stop), default=0)
        self._held = ""
        self.stopped = False

    def push(self, text: str) -> str:
        if self.stopped or not text:
            return ""
        if not self._stop:
            return text
        text = self._held + text
        found = self._find(text)
        open_at = self._find_open(text)
        # A longer stop string that began earlier than the one found may still become whole.
        if found is not None and found <= open_at:
            self.stopped = True
            self._held = ""
            return text[:found]
        self._held = text[open_at:]
        return text[:open_at]

    def finish(self) -> str:
        held, self._held = self._held, ""
        found = None if self.stopped else self._find(held)
        if found is None:
            return held
        self.stopped = True
        return held[:found]

    def _find(self, text: str) -> int | None:
        """Where the first whole stop string begins."""
        return min((at for stop in self._stop if (at := text.find(stop)) >= 0), default=None)

    def _find_open(self, text: str) -> int:
        """Where the first stop string that is not whole yet may begin; the end if none may."""
        for at in range(max(0, len(text) - self._longest + 1), len(text)):
            if text[at] in self._first_chars:
                tail = text[at:]
                if any(stop.startswith(tail) for stop in self._stop):
                    return at
        return len(text)
