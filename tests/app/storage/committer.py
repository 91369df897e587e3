"""A nursery of processes that commit versions without end, to be killed at any moment.

Each line on standard input is the folder for one child. The child prints the number of every
version once it is committed; when it is dead, the nursery prints `dead`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from app.storage.content import TemplateKind
from app.storage.store import Store


def text_of(number: int) -> str:
    """Different for every version, of several database pages."""
    return f"version {number}\n" * 1_000


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def commit_without_end(folder: Path) -> None:
    store = Store(folder)
    store.open()
    found = store.list_templates().result()
    if found:
        (template,) = found
    else:
        template = store.create_template("Rules", TemplateKind.DOCUMENT, text_of(1)).result()
    say(os.getpid())
    while True:
        number = template.latest.number + 1
        template = store.add_template_version(template.id, text_of(number)).result()
        say(number)


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        # No thread has been started here, so a fork is safe, and cheaper than a fresh interpreter.
        child = os.fork()
        if child == 0:
            commit_without_end(Path(line.rstrip("\n")))
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
