"""What a household says to its server: rules, tools, a document, source files. English that means
little, made by a seeded generator where much of it is needed."""

from __future__ import annotations

import random
from collections.abc import Mapping

_THINGS = ("lamp", "kettle", "heater", "window", "door", "radio", "fan", "oven", "curtain", "pump")
_ROOMS = ("kitchen", "hall", "garden", "cellar", "attic", "bathroom", "nursery", "garage", "study")
_PEOPLE = ("Mina", "Jun", "Anna", "Tom", "Grandmother", "the neighbour", "the gardener")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_STATES = ("is checked", "is cleaned", "stays closed", "is switched off", "may run", "was repaired")
_WHENS = ("before breakfast", "after dark", "while nobody is home", "once a week", "when it rains")
_VERBS = ("read", "find", "check", "update", "merge", "count", "sort", "load")

HOUSE_RULES = (
    "You are the assistant of a house with four people, two cats and a garden. Answer in one or two"
    " short sentences, in the language in which you are asked, and never invent a fact about the"
    " house. The heating is warm from six in the morning until ten in the evening; at night it is"
    " kept at seventeen degrees, except in the nursery, where it is kept at twenty. The doors are"
    " locked at eleven. The alarm of the cellar belongs to the water pump and is never switched off"
    " without telling an adult. Children may ask for music, for stories and for help with homework;"
    " they may not order anything, open the garage or change the heating. Guests may use the"
    " network of the hall and nothing else. Laundry runs at noon, when the sun is on the roof. The"
    " cats are fed at seven and at six. The robot does not enter the study. If somebody sounds hurt"
    " or afraid, tell them to call for help first, and say the address of the house: Ondol Street"
    " number four, second floor, the door on the left."
)
HOME_POLICY = (
    "You control the house. Call one function for each command, with the room's name in lower case,"
    " and ask back only if the room is missing. Never switch two devices for one command. Repeat in"
    " a few words what you have done."
)
AGENT_POLICY = (
    "You are a careful programmer. Read before you change anything, make one small step at a time,"
    " and say in a few words what you do next."
)
HOME_TOOLS: tuple[Mapping[str, object], ...] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {
                    "room": {"type": "string", "description": "the room, in lower case"},
                    argument: {"type": kind, "description": meaning},
                },
                "required": ["room", argument],
            },
        },
    }
    for name, description, argument, kind, meaning in (
        ("switch_light", "Switch the lights of a room.", "on", "boolean", "on or off"),
        ("set_heating", "Set the heating of a room.", "degrees", "number", "degrees Celsius"),
        ("play_music", "Play music in a room.", "title", "string", "a song, a singer or a style"),
        ("move_curtain", "Open or close a curtain.", "open", "boolean", "open or closed"),
    )
)


def sentence(chance: random.Random) -> str:
    """Something about the house, of about ten words."""
    return (
        f"On {chance.choice(_DAYS)} the {chance.choice(_THINGS)} in the {chance.choice(_ROOMS)}"
        f" {chance.choice(_STATES)} {chance.choice(_WHENS)}."
    )


def document(chance: random.Random, num_sentences: int) -> str:
    """The handbook of the house."""
    return " ".join(sentence(chance) for _ in range(num_sentences))


def question(chance: random.Random) -> str:
    """About the house or its handbook."""
    return (
        f"What does {chance.choice(_PEOPLE)} have to know about the {chance.choice(_THINGS)} in the"
        f" {chance.choice(_ROOMS)} on {chance.choice(_DAYS)}?"
    )


def command(chance: random.Random) -> str:
    """To the house."""
    return f"Switch the {chance.choice(_THINGS)} in the {chance.choice(_ROOMS)} off."


def source_lines(chance: random.Random, num_lines: int) -> str:
    """What a tool gives back that has read a file."""
    return "\n".join(
        f"def {chance.choice(_VERBS)}_{chance.choice(_THINGS)}({chance.choice(_ROOMS)}):"
        f" return {chance.choice(_VERBS)}({chance.choice(_ROOMS)}, {chance.randrange(100)})"
        for _ in range(num_lines)
    )
