"""ORACLES.md has every row of the oracle once, and names tests that exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = TESTS / "ORACLES.md"
VERDICTS = {"test", "replaced", "n/a", "later"}
NUMBERS = {
    "A": [*range(1, 8), 9, 10, 12, 14, *range(16, 21), 22, 23, 24, 26],
    "B": [1, 3, 4, 6, 7, 9, 10, 11, 12],
    "C": [1, 2, 3, 4, 7, 8, 10, *range(12, 36), 37, 38, 39],
    "D": [2, *range(4, 12), 13, 14, 15, 17, *range(19, 33)],
    "E": [1, 2, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16, 18, 19],
    "F": [1, 3, 4, 5, 7, 8, 9, 10, *range(12, 18)],
    "G": [1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 14, 16, 17, 18, 19, 20, 22],
    "H": [1, 2, *range(4, 15), *range(16, 21)],
    "I": [1, 2, 4, 5, 6, 7, 8, 10],
    "J": [1, 3, 5, 6, 7, *range(10, 16), 17, 18, 20, 22, 23, 24, 25],
    "K": [3, 4, 5, 6, 7, 8, 10, *range(12, 18), 19, 20, 21, 22],
}


def lines() -> list[tuple[list[str], str, str]]:
    """Rows, verdict and text of each line of the tables."""
    found = re.findall(
        r"^\| ([A-K]\d+(?:, [A-K]\d+)*) \| (.*?) \| (.*) \|$", TABLE.read_text(), re.M
    )
    return [(rows.split(", "), verdict, text) for rows, verdict, text in found]


def all_tests() -> set[str]:
    """Names of all tests of the engine."""
    sources = (path.read_text() for path in TESTS.rglob("test_*.py"))
    return {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.M)}


def named(text: str) -> set[str]:
    return set(re.findall(r"`(test_\w+)`", text))


def test_every_row_is_there_once() -> None:
    rows = [row for line, _, _ in lines() for row in line]
    wanted = [f"{section}{number}" for section, numbers in NUMBERS.items() for number in numbers]
    assert len(wanted) == 197
    assert Counter(rows) == Counter(wanted)


def test_every_row_is_answered() -> None:
    for rows, verdict, text in lines():
        assert verdict in VERDICTS, rows
        if verdict in {"test", "replaced"}:
            assert named(text), f"{rows}: no test shows it"
        else:
            assert text, f"{rows}: no reason"


def test_the_tests_that_are_named_exist() -> None:
    assert set().union(*(named(text) for _, _, text in lines())) <= all_tests()


def test_tests_that_carry_a_row_stand_in_its_line() -> None:
    texts = {row: text for rows, _, text in lines() for row in rows}
    for name in all_tests():
        for row in re.findall(r"(?<=_)[A-K]\d+(?=_|$)", name):
            assert name in named(texts[row]), f"{name} is not in the line of {row}"
