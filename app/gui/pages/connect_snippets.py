"""What to paste into each client: the right address and model, quoted for where they go."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

GREETING = "Hello!"
ANY_KEY = "ondol"  # clients that insist on a key take any text


@dataclass(frozen=True, slots=True)
class Snippet:
    """One client's card: its name, a sentence on where the code goes, and the code."""

    name: str
    hint: str
    code: str


def base_url(url: str) -> str:
    """What clients call the base URL."""
    return f"{url}/v1"


def snippets(url: str, model_id: str) -> tuple[Snippet, ...]:
    """The cards in the order in which they are shown."""
    base = base_url(url)
    return (
        Snippet(
            "openai (Python)",
            QCoreApplication.translate(
                "connect", "The Python package; the same two values fit OpenAI’s other packages."
            ),
            _openai(base, model_id),
        ),
        Snippet(
            "Open WebUI",
            QCoreApplication.translate(
                "connect",
                "For its first start. One that has run before takes the address, with any key,"
                " under Admin Settings → Connections. In Docker it needs --network=host.",
            ),
            _open_webui(base),
        ),
        Snippet(
            "llm",
            QCoreApplication.translate(
                "connect", "Run this once in a terminal; from then on: llm -m ondol."
            ),
            _llm(base, model_id),
        ),
        Snippet(
            "curl",
            QCoreApplication.translate("connect", "In a terminal, to see whether it answers."),
            _curl(base, model_id),
        ),
    )


def _openai(base: str, model_id: str) -> str:
    return f"""\
from openai import OpenAI

client = OpenAI(
    base_url={_quoted(base)},
    api_key={_quoted(ANY_KEY)},
)
answer = client.chat.completions.create(
    model={_quoted(model_id)},
    messages=[{{"role": "user", "content": {_quoted(GREETING)}}}],
)
print(answer.choices[0].message.content)
"""


def _open_webui(base: str) -> str:
    return f"""\
OPENAI_API_BASE_URL={shlex.quote(base)} \\
OPENAI_API_KEY={ANY_KEY} \\
open-webui serve
"""


def _llm(base: str, model_id: str) -> str:
    return f"""\
folder="$(dirname "$(llm logs path)")"
cat >> "$folder/extra-openai-models.yaml" <<'END'
- model_id: ondol
  model_name: {_quoted(model_id)}
  api_base: {_quoted(base)}
END
llm -m ondol {shlex.quote(GREETING)}
"""


def _curl(base: str, model_id: str) -> str:
    body = f"""\
{{
    "model": {_quoted(model_id)},
    "messages": [{{"role": "user", "content": {_quoted(GREETING)}}}]
  }}"""
    return f"""\
curl {shlex.quote(base)}/chat/completions \\
  -H 'Content-Type: application/json' \\
  -d {shlex.quote(body)}
"""


def _quoted(text: str) -> str:
    """A string of JSON, which is one of Python and of YAML too."""
    return json.dumps(text, ensure_ascii=False)
