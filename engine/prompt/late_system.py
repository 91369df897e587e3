"""System messages further down a conversation keep their place (server case 28, client rule B3).

Moving them to the front would change the beginning of every later prompt, and no cached prefix
would match again. A turn is a message as templates read it: plain JSON data with role and content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Turn = dict[str, object]


def late_system_forms(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """The ways to say the turns that follow the leading system turn, the most faithful first.

    As they are; then with reminders in user turns, for templates that refuse a late system turn;
    then with neighbouring user turns made one, for templates that want the roles to alternate.
    """
    yield list(turns)
    if any(turn["role"] == "system" for turn in turns):
        reminders = [_as_reminder(turn) if turn["role"] == "system" else turn for turn in turns]
        yield reminders
        yield _join_user_turns(reminders)


def keeps_late_system(text: str, turns: Sequence[Turn]) -> bool:
    """Whether the rendered text shows every system turn, and after the turns before it.

    `turns` are all turns of the rendering. Templates trim contents and leave others out; only a
    system turn that is nowhere to be found behind its predecessors counts.
    """
    position = 0
    for turn in turns:
        content = str(turn["content"]).strip()
        found = text.find(content, position)
        if found >= 0:
            position = found + len(content)
        elif turn["role"] == "system":
            return False
    return True


def _as_reminder(turn: Turn) -> Turn:
    return {"role": "user", "content": f"<system-reminder>{turn['content']}</system-reminder>"}


def _join_user_turns(turns: Sequence[Turn]) -> list[Turn]:
    joined: list[Turn] = []
    for turn in turns:
        if joined and turn["role"] == joined[-1]["role"] == "user":
            joined[-1] = {**joined[-1], "content": f"{joined[-1]['content']}\n\n{turn['content']}"}
        else:
            joined.append(turn)
    return joined
