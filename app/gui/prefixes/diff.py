"""What differs between two texts: by lines, and inside changed lines by words. No Qt."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT_LINES = 3
_ALIKE = 0.4  # lines less alike than this are shown as one gone and one new
_LONG_LINE = 2_000  # characters; beyond it words are not compared
# Letters of scripts that put no spaces between words stand alone.
_SPACELESS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORDS = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+|\s+|[^\w\s]")


class Change(enum.Enum):
    SAME = " "
    REMOVED = "−"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the unified view. `old` and `new` are its numbers there, from 1; `spans` are the
    stretches [start, end) of `text` that differ from the line it stands for, empty where the whole
    line does."""

    change: Change
    text: str
    old: int | None = None
    new: int | None = None
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Diff:
    """Hunks of lines with three equal lines around each change. `lines_end_alike` is False where
    only the kind of line ends differs."""

    hunks: tuple[tuple[DiffLine, ...], ...]
    num_added: int
    num_removed: int
    lines_end_alike: bool = True

    @property
    def same(self) -> bool:
        return not self.hunks and self.lines_end_alike


def compare(before: str, after: str) -> Diff:
    """Takes long for long texts that have little in common: not for the main thread."""
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > 4_000)
    hunks = tuple(
        tuple(_hunk(old, new, group)) for group in matcher.get_grouped_opcodes(CONTEXT_LINES)
    )
    lines = [line for hunk in hunks for line in hunk]
    return Diff(
        hunks,
        num_added=sum(line.change is Change.ADDED for line in lines),
        num_removed=sum(line.change is Change.REMOVED for line in lines),
        lines_end_alike=bool(hunks) or before == after,
    )


def _hunk(
    old: Sequence[str], new: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]
) -> Iterator[DiffLine]:
    for tag, old_start, old_end, new_start, new_end in group:
        if tag == "equal":
            for at in range(old_end - old_start):
                yield DiffLine(
                    Change.SAME, old[old_start + at], old_start + at + 1, new_start + at + 1
                )
            continue
        removed, added = old[old_start:old_end], new[new_start:new_end]
        old_spans, new_spans = _spans(removed, added)
        for at, text in enumerate(removed):
            yield DiffLine(Change.REMOVED, text, old=old_start + at + 1, spans=old_spans[at])
        for at, text in enumerate(added):
            yield DiffLine(Change.ADDED, text, new=new_start + at + 1, spans=new_spans[at])


_Spans = tuple[tuple[int, int], ...]


def _spans(removed: Sequence[str], added: Sequence[str]) -> tuple[list[_Spans], list[_Spans]]:
    """Compare lines in pairs, from the top."""
    old_spans: list[_Spans] = [()] * len(removed)
    new_spans: list[_Spans] = [()] * len(added)
    for at, (before, after) in enumerate(zip(removed, added, strict=False)):
        if max(len(before), len(after)) <= _LONG_LINE:
            old_spans[at], new_spans[at] = _word_spans(before, after)
    return old_spans, new_spans


def _word_spans(before: str, after: str) -> tuple[_Spans, _Spans]:
    """The stretches that differ, in words; none where the lines have too little in common."""
    old_words, new_words = _WORDS.findall(before), _WORDS.findall(after)
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if _likeness(matcher, old_words, new_words) < _ALIKE:
        return (), ()
    old_ends, new_ends = _ends(old_words), _ends(new_words)
    old_spans, new_spans = [], []
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        if old_end > old_start:
            old_spans.append((old_ends[old_start], old_ends[old_end]))
        if new_end > new_start:
            new_spans.append((new_ends[new_start], new_ends[new_end]))
    return tuple(old_spans), tuple(new_spans)


def _likeness(
    matcher: SequenceMatcher[str], old_words: Sequence[str], new_words: Sequence[str]
) -> float:
    """How much two lines have in common, 0 to 1; spaces do not count."""
    total = sum(not word.isspace() for words in (old_words, new_words) for word in words)
    common = sum(
        not word.isspace()
        for start, _, length in matcher.get_matching_blocks()
        for word in old_words[start : start + length]
    )
    return 2 * common / total if total else 0.0


def _ends(words: Sequence[str]) -> list[int]:
    """Where each word begins, and the last one ends."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    return ends
