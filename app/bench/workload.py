"""Prompts of chosen lengths that no cache has seen: a document and a question about it.

They look like text, so that answers are ordinary ones, and mean nothing.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.bench.client import Messages

Encode = Callable[[Messages], Sequence[int]]

# Shorter prompts have no room for a document beside the template: they are a question alone.
_SMALLEST_WITH_DOCUMENT = 40
_SENTENCE_WORDS = (6, 12)
_MAX_FITTING_STEPS = 12

# Words that most tokenizers have as one token each.
_WORD_LIST = """
    air animal answer apple arm art autumn baby bag ball bank bath bean bear bed bell bird blue
    boat body bone book box boy branch bread bridge brother butter cake camera car card cat
    chair chicken child church city clock cloth cloud coat coffee cold color corn country cow
    crowd cup dance day desk dinner doctor dog door dress drink driver earth east egg engine
    evening eye face family farm father field finger fire fish floor flower food foot forest
    friend fruit game garden girl glass gold grass green group hair hall hand harbor hat heart
    heat hill history home horse hospital hotel hour house ice island job juice key king kitchen
    knife lady lake lamp language leaf letter library light line lion list lunch machine magic
    mail map market meal meat milk minute mirror money month moon morning mother mountain mouse
    mouth movie museum music name neck news night north nose note number ocean office oil orange
    order page paint pair paper parent park party path pen people person phone picture plane
    plant plate pocket police pool price prince queen question rain red rice ring river road
    rock roof room root salt sand school science sea season seed shape sheep ship shirt shoe
    shop silver sister sky snow soap soil song sound soup south spoon spring square star station
    stone store storm story street student sugar summer sun table tail tea teacher team test
    ticket time town toy train travel tree truck uncle valley village voice wall water weather
    week west wheel wind window wine winter woman wood word work world writer yard year yellow
"""
_WORDS = tuple(_WORD_LIST.split())


@dataclass(frozen=True, slots=True)
class Chat:
    """A document, possibly empty, and a question about it."""

    document: str
    question: str

    @property
    def messages(self) -> Messages:
        """A system turn is always there: without one some templates put in a long one of theirs."""
        return (
            {"role": "system", "content": self.document},
            {"role": "user", "content": self.question},
        )


class Workload:
    """Makes chats; the same seed and tokenizer make the same ones. `encode` gives a chat's prompt.

    Chats of `chat` differ from the first token of their own on, until there are no more words that
    begin with a new token.
    """

    def __init__(self, encode: Encode, seed: int = 1) -> None:
        self._encode = encode
        self._random = random.Random(seed)
        self._openings = self._fresh_openings()
        self._subjects = itertools.cycle(self._random.sample(_WORDS, len(_WORDS)))

    def chat(self, num_tokens: int) -> Chat:
        """A chat that was never given before, of about `num_tokens` tokens with the template's, and
        no fewer than the template and one word take.
        """
        words = self._words(num_tokens)
        if num_tokens < _SMALLEST_WITH_DOCUMENT:
            return self._fit(lambda count: Chat("", " ".join(words[:count])), num_tokens)
        question = self._question()
        return self._fit(lambda count: Chat(" ".join(words[:count]), question), num_tokens)

    def another_question(self, chat: Chat) -> Chat:
        """The same document with a question that differs from its first word on; without a document
        a question of as many words."""
        if chat.document:
            return Chat(chat.document, self._question())
        count = len(chat.question.split())
        return Chat("", " ".join(self._words(count)[:count]))

    def _fit(self, make: Callable[[int], Chat], num_tokens: int) -> Chat:
        """Of the chats of a number of words each, the one that comes nearest to `num_tokens`."""
        found: dict[int, tuple[int, Chat]] = {}
        count = num_tokens
        while count not in found and len(found) < _MAX_FITTING_STEPS:
            chat = make(count)
            length = len(self._encode(chat.messages))
            missing = num_tokens - length
            found[count] = (abs(missing), chat)
            step = round(missing * count / length)
            count = max(1, count + (step or (missing > 0) - (missing < 0)))
        _, nearest = min(found.values(), key=lambda each: each[0])
        return nearest

    def _words(self, count: int) -> list[str]:
        """At least `count` words that make sentences, the first one an opening."""
        words: list[str] = []
        while len(words) < count:
            sentence = self._random.choices(_WORDS, k=self._random.randint(*_SENTENCE_WORDS))
            sentence[0] = sentence[0].capitalize() if words else next(self._openings)
            sentence[-1] += "."
            words += sentence
        return words

    def _question(self) -> str:
        one, two = self._random.sample(_WORDS, 2)
        return f"{next(self._subjects).capitalize()}, {one} or {two}: which comes first?"

    def _fresh_openings(self) -> Iterator[str]:
        """Words whose first tokens are new, over and over again."""
        head = self._head_length()
        while True:
            seen: set[int] = set()
            for word in self._random.sample(_WORDS, len(_WORDS)):
                opening = word.capitalize()
                token = self._encode(Chat(opening, "").messages)[head]
                if token not in seen:
                    seen.add(token)
                    yield opening

    def _head_length(self) -> int:
        """Tokens that the template puts before the first turn's text."""
        prompts = [self._encode(Chat(text, "").messages) for text in ("a", "0", ".")]
        columns = zip(*prompts, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, columns))
