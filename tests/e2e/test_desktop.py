"""The real app with the real model on a screen with a panel, as a person uses it: by keyboard."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from openai import OpenAI

from app.instance import find_holder
from app.settings import format_url
from tests.support.desktop import Screen, missing_tools, screen
from tests.support.waiting import wait_until

POLICY = "You are the assistant of the house. Answer in one short sentence. The kettle is blue."
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "set_floor",
            "description": "Set the floor heating of a room.",
            "parameters": {"type": "object", "properties": {"room": {"type": "string"}}},
        },
    }
]
START_S, STEP_S = 90, 30


class Desktop:
    """The app on its screen."""

    def __init__(self, seen: Screen, data: Path, command: list[str], pictures: Path) -> None:
        self.screen = seen
        self.data = data
        self.command = command
        self.pictures = pictures
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **self.screen.variables, "LANGUAGE": "en", "LC_ALL": "C.UTF-8"},
        )

    @property
    def url(self) -> str:
        holder = find_holder(self.data)
        return format_url(holder.host, holder.port) if holder else ""

    def serves(self) -> bool:
        if not self.url:
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def pinned_tokens(self) -> dict[str, int]:
        """Tokens that stand in KV, by pin."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        found = re.findall(r'^ondol:pinned_prefix_tokens{.*prefix="(.*?)"} (\S+)$', text, re.M)
        return {name: int(float(tokens)) for name, tokens in found}

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What is stored, read beside the running app."""
        with sqlite3.connect(f"file:{self.data}/ondol.sqlite3?mode=ro", uri=True) as database:
            return database.execute(query).fetchall()

    def expect(self, what: str, happened: object) -> None:
        """Wait for something that can be called; keep a picture where it does not happen."""
        assert callable(happened)
        try:
            wait_until(lambda: bool(happened()), STEP_S)
        except AssertionError:
            picture = self.pictures / "screen.png"
            self.screen.save(picture)
            pytest.fail(f"not within {STEP_S} s: {what}; the screen is in {picture}")


@pytest.fixture
def desktop(starter_model: Path, tmp_path: Path) -> Iterator[Desktop]:
    if missing_tools():
        pytest.skip(f"not installed: {', '.join(missing_tools())}")
    data, frames = tmp_path / "data", tmp_path / "frames"
    frames.mkdir()
    command = [sys.executable, "-m", "app", "--port", "0", "--data-dir", str(data)]
    with screen(frames) as seen:
        there = Desktop(seen, data, [*command, "--model", str(starter_model)], tmp_path)
        try:
            wait_until(there.serves, START_S)
            yield there
        finally:
            there.process.kill()
            there.process.wait()


def _write_template(desktop: Desktop, kind: str, text: str, name: str) -> None:
    """A new prefix through the editor. `kind` is chosen by its first letters."""
    screen = desktop.screen
    screen.press("ctrl+n")
    desktop.expect("the editor opens", lambda: screen.windows("New Prefix"))
    screen.settle()
    screen.press("alt+k")
    screen.write(kind)
    screen.press("alt+n")
    screen.write(name)
    screen.press("alt+j" if kind.startswith("tool") else "alt+x")
    screen.write(text)
    screen.press("alt+n", "Return")
    desktop.expect(
        f"{name} is stored", lambda: (name,) in desktop.rows("select name from template")
    )
    desktop.expect("the editor closes", lambda: not screen.windows("New Prefix"))
    screen.focus("Ondol")
    screen.settle()


def _ask_and_see(desktop: Desktop, num_requests: int) -> None:
    """A request that is warm, moves the charts, and is kept as the last of so many."""
    desktop.screen.settle()
    before = charts(desktop.screen)
    assert ask(desktop.url) >= max(desktop.pinned_tokens().values())
    desktop.expect("the charts move", lambda: not np.array_equal(charts(desktop.screen), before))
    desktop.expect(
        "the history has it",
        lambda: len(desktop.rows("select * from request")) == num_requests,
    )


def test_an_afternoon(desktop: Desktop) -> None:
    screen = desktop.screen
    screen.focus("Ondol")

    # A policy and a tools template are written and pinned.
    screen.press("ctrl+2")
    _write_template(desktop, "system", POLICY, "Policy")
    screen.press("ctrl+p")
    desktop.expect("the policy is pinned", lambda: desktop.rows("select * from pin"))
    _write_template(desktop, "tool", json.dumps(TOOLS), "Tools")
    screen.press("ctrl+p")
    desktop.expect("Ondol asks for the policy", lambda: screen.windows("Pin"))
    screen.settle()
    screen.press("Return")
    desktop.expect("both are pinned", lambda: len(desktop.rows("select * from pin")) == 2)
    desktop.expect("both are warm", lambda: all_warm(desktop.pinned_tokens()))

    # A real client that uses both finds all of it; the charts move, the rows appear.
    screen.focus("Ondol")
    screen.press("ctrl+1")
    _ask_and_see(desktop, num_requests=1)
    _ask_and_see(desktop, num_requests=2)
    screen.press("ctrl+3")

    # The icon keeps Ondol alive without its window, and a second start brings the window back.
    screen.press("ctrl+w")
    desktop.expect("the window closes", lambda: not screen.windows("Ondol"))
    assert desktop.process.poll() is None
    assert desktop.start().wait(START_S) == 0
    desktop.expect("the window is back", lambda: screen.windows("Ondol"))

    screen.focus("Ondol")
    screen.press("ctrl+q")
    assert desktop.process.wait(STEP_S) == 0


def ask(url: str) -> int:
    """What a client that uses the policy and the tools is told of cached tokens."""
    client = OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0)
    answer = client.chat.completions.create(
        model="SmolLM2-135M-Instruct",
        messages=[
            {"role": "system", "content": POLICY},
            {"role": "user", "content": "Warm the bath."},
        ],
        tools=TOOLS,  # type: ignore[arg-type]
        max_tokens=12,
        temperature=0,
    )
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    return answer.usage.prompt_tokens_details.cached_tokens or 0


def all_warm(tokens: dict[str, int]) -> bool:
    return len(tokens) == 2 and all(tokens.values()) and len(set(tokens.values())) == 2


def charts(screen: Screen) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The part of the window that the dashboard's figures and charts lie in."""
    return screen.pixels()[150:600, 4 * 260 : 4 * 900]
