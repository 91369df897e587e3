"""What the fake runner answers, in time that grows with the prompt and not with its square."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.fake_runner import VOCABULARY, fold


def answer_to(prompt: Sequence[int], num_tokens: int) -> list[int]:
    """The greedy answer to `prompt`; equals `fake_runner.expected_answer`."""
    state = 0
    for token in prompt:
        state = fold(state, token)
    answer: list[int] = []
    for _ in range(num_tokens):
        answer.append(100 + state % (VOCABULARY - 100))
        state = fold(state, answer[-1])
    return answer
