"""A household for the screenshots: what it keeps warm, and the clients that ask all day."""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from urllib.parse import urlsplit


def _one_line(text: str) -> str:
    return " ".join(text.split())


POLICY = _one_line(
    """
    You are the assistant of a family of four. Answer in plain, friendly words and in at most
    three short sentences. Do what is asked first and explain afterwards, if at all. Never read
    out more than five items of a list; offer the rest. Times are written as 18:30, dates as 4
    March, temperatures in degrees Celsius. When something could disturb others (loud music,
    lights in a room where somebody sleeps, opening the garage at night) ask before you do it.
    You may switch lights, set the floor heating, start timers and change the shopping list with
    the tools below. You may not open doors or windows, order anything, or change alarms; say so
    when asked. The children are called Mina and Jun. Mina is nine and may ask about homework:
    give hints, no results. Jun is six: use easy words. Guests may ask everything but the
    calendar. When a tool fails, say which and what a person can do instead. When you do not
    know, say so.
    """
)

TOOLS: Sequence[Mapping[str, object]] = [
    {
        "type": "function",
        "function": {
            "name": "set_floor_heating",
            "description": "Set the floor heating of a room to a temperature in degrees Celsius.",
            "parameters": {
                "type": "object",
                "properties": {
                    "room": {
                        "type": "string",
                        "enum": ["kitchen", "living", "bath", "mina", "jun", "parents"],
                    },
                    "celsius": {"type": "number", "minimum": 16, "maximum": 28},
                    "until": {"type": "string", "description": "A time such as 22:00, or empty."},
                },
                "required": ["room", "celsius"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "switch_light",
            "description": "Switch the lights of a room on or off, or dim them.",
            "parameters": {
                "type": "object",
                "properties": {
                    "room": {"type": "string"},
                    "percent": {"type": "integer", "minimum": 0, "maximum": 100},
                },
                "required": ["room", "percent"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "change_shopping_list",
            "description": "Add an item to the family's shopping list or take it off.",
            "parameters": {
                "type": "object",
                "properties": {
                    "item": {"type": "string"},
                    "action": {"type": "string", "enum": ["add", "remove"]},
                },
                "required": ["item", "action"],
            },
        },
    },
]

MANUAL = _one_line(
    """
    Rice cooker, short manual. Rinse the rice until the water stays clear and put it into the
    inner pot, never into the cooker itself. One measuring cup is 180 ml and makes two bowls.
    Fill with water to the line of the number of cups: the left scale is for white rice, the
    middle one for mixed grains, the right one for brown rice. Close the lid until it clicks; an
    open lid shows E01. White rice takes 28 minutes, mixed grains 45, brown rice 62. The signal
    sounds when it is ready; the cooker then keeps warm for twelve hours. Loosen the rice at
    once, so that it does not stick. To start later press Timer and choose when the rice is to
    be ready, at most 13 hours ahead. Do not use the timer on hot days with rice that was
    soaked. Steam comes out of the vent while it cooks: keep hands and cupboards away from it.
    Clean the vent, the lid's plate and the drip cup after each use, with warm water and a soft
    cloth. Soak the inner pot for ten minutes before you wash it; steel wool takes the coating
    off. E03 means that there was no water, E05 that the vent is blocked.
    """
)

GUEST_RULES = _one_line(
    """
    Welcome. The network is called Ondol Guests and the password hangs by the door. Shoes stay
    at the entrance. The floor is warm from October to April; please open windows only for a few
    minutes. Breakfast things are in the left cupboard. Quiet hours are from 22:00 to 7:00.
    """
)

HOME_QUESTIONS = (
    "Is the bath warm yet?",
    "Make the kitchen floor 22 degrees until ten.",
    "Put soy sauce on the shopping list.",
    "Dim the living room to 30 percent.",
    "What is still on the shopping list?",
    "Turn the light in Jun's room off in ten minutes.",
    "How warm is Mina's room?",
    "Remind me of the rice at six.",
)
MANUAL_QUESTIONS = (
    "How long does brown rice take?",
    "What does E05 mean?",
    "May I soak the rice over night?",
    "How much water for three cups?",
)
GUEST_QUESTIONS = ("When are quiet hours?", "Where do I find the password?")

HOME_CLIENT = "HomeAssistant/2026.11"
MANUAL_CLIENT = "OpenWebUI/0.9.2"
GUEST_CLIENT = "OpenAI/Python 3.57.0"
OTHER_CLIENTS = ("llm/0.31", "curl/8.14.1")

_STORY = (
    "the grandmother lit a small fire under the floor and the whole house grew warm while snow "
    "fell on the roof of the barn and the children drew maps of rivers they had never seen"
)
_TIMEOUT_S = 120.0
_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of a client."""

    client: str
    messages: Sequence[Mapping[str, str]]
    tools: Sequence[Mapping[str, object]] = ()
    max_tokens: int = 96
    leaves_early: bool = False


def tools_json() -> str:
    """The tools as a template's content."""
    return json.dumps(TOOLS, indent=2)


def send(url: str, ask: Ask) -> None:
    """Ask and wait for the end, or leave after the first words."""
    body = {
        "messages": ask.messages,
        "max_tokens": ask.max_tokens,
        "temperature": 0.2,
        "seed": 7,
        "stream": True,
        **({"tools": ask.tools} if ask.tools else {}),
    }
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=_TIMEOUT_S)
    try:
        headers = {"Content-Type": "application/json", "User-Agent": ask.client}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise RuntimeError(response.read().decode(errors="replace"))
        if ask.leaves_early:
            response.read(400)
        else:
            response.read()
    finally:
        connection.close()


def live(url: str, seconds: float, stopping: threading.Event) -> int:
    """An afternoon in `seconds`: returns how many requests were made."""
    chance = random.Random(4)
    until = time.monotonic() + seconds
    asks = _afternoon(chance)
    running: set[Future[None]] = set()
    count = 0
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="household") as people:
        while time.monotonic() < until and not stopping.is_set():
            running.add(people.submit(send, url, next(asks)))
            count += 1
            stopping.wait(chance.uniform(0.5, 8.0))
            if len(running) >= _AT_ONCE:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for request in done:
                    request.result()
    for request in running:
        request.result()
    return count


def _afternoon(chance: random.Random) -> Iterator[Ask]:
    makers: Sequence[Callable[[random.Random, int], Ask]] = (
        _home, _home, _home, _manual, _home, _other, _manual, _home, _guest, _home, _other,
    )  # fmt: skip
    for number in itertools.count():
        yield makers[number % len(makers)](chance, number)


def _home(chance: random.Random, number: int) -> Ask:
    return Ask(
        HOME_CLIENT,
        [_said("system", POLICY), _said("user", chance.choice(HOME_QUESTIONS))],
        TOOLS,
        max_tokens=72,
        leaves_early=number % 14 == 9,
    )


def _manual(chance: random.Random, number: int) -> Ask:
    return Ask(
        MANUAL_CLIENT,
        [_said("system", MANUAL), _said("user", chance.choice(MANUAL_QUESTIONS))],
    )


def _guest(chance: random.Random, number: int) -> Ask:
    return Ask(
        GUEST_CLIENT,
        [_said("system", GUEST_RULES), _said("user", chance.choice(GUEST_QUESTIONS))],
    )


def _other(chance: random.Random, number: int) -> Ask:
    """Something that nobody asked before, so all of it is computed."""
    story = " ".join(chance.choices(_STORY.split(), k=chance.choice((160, 320, 520))))
    return Ask(
        chance.choice(OTHER_CLIENTS),
        [_said("user", f"{number}. Go on with this story: {story}")],
        max_tokens=48,
    )


def _said(role: str, content: str) -> Mapping[str, str]:
    return {"role": role, "content": content}
