"""From chat messages and tools to a prompt: rendered by the model's template, cut into segments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.errors import EmptyPrompt, PromptTooLong, TemplateError
from engine.prompt.codec import Encoded, TextCodec
from engine.prompt.late_system import Turn, keeps_late_system, late_system_forms
from engine.prompt.segments import common_prefix, name_segments, system_end
from engine.prompt.template import RenderJob, TemplateRenderer
from engine.prompt.template_kwargs import check_names, check_shape
from engine.prompt.tools_text import tools_text
from engine.request import Prompt

Tools = Sequence[Mapping[str, object]]

_SYSTEM_ROLES = ("system", "developer")
# First words of imagined next turns. They begin with different kinds of characters, because what
# a tokenizer merges with the text before them depends on the kind; the first two are enough to
# see where a template puts the next turn.
_PROBES = ("a", "0", ".", " a", "\n\na", "\ta", "가")


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `content` None is empty text; `tool_calls` is parsed JSON data."""

    role: str
    content: str | None = None
    name: str | None = None
    tool_calls: tuple[Mapping[str, object], ...] = ()
    tool_call_id: str | None = None
    reasoning_content: str | None = None


class ChatFormatter:
    """Turns chats into prompts for one model. All methods may be called from any thread.

    `template` is the model's chat template, None if it has none; `special_tokens` what the
    template knows its special tokens by ("bos_token" and so on). A text that must have more than
    `max_tokens` is refused before it is encoded.
    """

    def __init__(
        self,
        codec: TextCodec,
        template: str | None,
        special_tokens: Mapping[str, str],
        renderer: TemplateRenderer,
        max_tokens: int | None = None,
    ) -> None:
        self._codec = codec
        self._template = template
        self._special_tokens = dict(special_tokens)
        self._renderer = renderer
        self._max_tokens = max_tokens
        self._variables: frozenset[str] | None = None

    def format(
        self,
        messages: Sequence[Message],
        tools: Tools | None = None,
        template_kwargs: Mapping[str, object] | None = None,
    ) -> Prompt:
        """The prompt that asks for the next answer, in segments "system", "messages", "generation".

        Leading system and developer messages become one (server case 29); later ones stay where
        they are (case 28). Raises EmptyPrompt without messages, TemplateError if the template
        refuses them or an argument is not allowed (security S7), InvalidText for lone surrogates.
        """
        if not messages:
            raise EmptyPrompt("There are no messages to answer.")
        chat = self._chat(messages, tools, template_kwargs)

        def jobs(turns: list[Turn]) -> list[RenderJob]:
            return [chat.job(turns, ask=True), chat.job(turns), *chat.head_jobs()]

        text, (unanswered, *of_head) = self._render(chat, jobs)
        encoded = self._encode(text)
        end_of_messages = (
            common_prefix(text, unanswered) if isinstance(unanswered, str) else len(text)
        )
        ends = [
            ("system", chat.system_end(text, of_head)),
            ("messages", end_of_messages),
            ("generation", len(text)),
        ]
        return Prompt(encoded.ids, name_segments(encoded, len(encoded.ids), ends))

    def prefix(
        self,
        messages: Sequence[Message],
        tools: Tools | None = None,
        template_kwargs: Mapping[str, object] | None = None,
    ) -> Prompt:
        """The tokens that every longer chat with these leading messages and tools begins with.

        What the tokenizer merges differently depending on the next turn is not in it (client rule
        B13), nor a generation prompt. Segments "system" and "messages". Raises like `format`, and
        TemplateError if the template takes no turn after these.
        """
        chat = self._chat(messages, tools, template_kwargs)

        def jobs(turns: list[Turn]) -> list[RenderJob]:
            return [*chat.next_turn_jobs(turns), *chat.head_jobs()]

        text, others = self._render(chat, jobs)
        num_next = len(others) - len(chat.head_jobs())
        continued = [other for other in others[:num_next] if isinstance(other, str)]
        if not continued:
            raise TemplateError("The chat template takes no further turn after these messages.")
        encoded = self._encode(text)
        num_tokens = min(
            common_prefix(encoded.ids, self._codec.encode_ids(other)) for other in continued
        )
        ends = [("system", chat.system_end(text, others[num_next:])), ("messages", len(text))]
        return Prompt(encoded.ids[:num_tokens], name_segments(encoded, num_tokens, ends))

    def _encode(self, text: str) -> Encoded:
        """Tokens, unless there must be more than the model takes: encoding many megabytes takes
        gigabytes (S12). Raises PromptTooLong."""
        if self._max_tokens is not None:
            least = len(text) // self._codec.longest_token
            if least > self._max_tokens:
                raise PromptTooLong(least, self._max_tokens)
        return self._codec.encode(text)

    def _chat(
        self,
        messages: Sequence[Message],
        tools: Tools | None,
        template_kwargs: Mapping[str, object] | None,
    ) -> _Chat:
        num_leading = 0
        for message in messages:
            if message.role not in _SYSTEM_ROLES:
                break
            num_leading += 1
        texts = [message.content for message in messages[:num_leading] if message.content]
        if tools and self._template and "tools" not in self._template_variables():
            texts.append(tools_text(tools))
            tools = None
        head: list[Turn] = []
        if num_leading or texts:
            head = [{"role": "system", "content": "\n\n".join(texts)}]
        return _Chat(
            head=head,
            rest=[_turn(message) for message in messages[num_leading:]],
            tools=tools or None,
            kwargs=self._checked(template_kwargs or {}),
        )

    def _checked(self, kwargs: Mapping[str, object]) -> Mapping[str, object]:
        check_shape(kwargs, self._special_tokens)
        if kwargs and self._template:
            check_names(kwargs, self._template_variables())
        return kwargs

    def _template_variables(self) -> frozenset[str]:
        if self._variables is None:
            self._variables = self._renderer.variables(self._template or "")
        return self._variables

    def _render(
        self, chat: _Chat, jobs: Callable[[list[Turn]], list[RenderJob]]
    ) -> tuple[str, list[str | TemplateError]]:
        """Results of the first form that the template takes: the first job's text, and the others'.

        Raises the TemplateError of the last form if it takes none.
        """
        if not self._template:
            raise TemplateError("This model has no chat template, so it cannot take chat messages.")
        moved: tuple[str, list[str | TemplateError]] | None = None
        refusal: TemplateError | None = None
        for rest in late_system_forms(chat.rest):
            turns = [*chat.head, *rest]
            first, *others = self._renderer.render_batch(
                self._template, jobs(turns), self._special_tokens
            )
            if isinstance(first, TemplateError):
                refusal = first
            elif keeps_late_system(first, turns):
                return first, others
            else:
                moved = moved or (first, others)
        if moved is None:
            assert refusal is not None
            raise refusal
        return moved


@dataclass(frozen=True, slots=True)
class _Chat:
    """A chat as templates read it: at most one leading system turn, then the rest."""

    head: list[Turn]
    rest: list[Turn]
    tools: Tools | None
    kwargs: Mapping[str, object]

    def job(self, turns: Sequence[Turn], *, ask: bool = False) -> RenderJob:
        return RenderJob(turns, self.tools, add_generation_prompt=ask, kwargs=self.kwargs)

    def head_jobs(self) -> list[RenderJob]:
        """The head alone, then before two different user turns; none if there is nothing in it."""
        if not self.head and self.tools is None:
            return []
        probes = [self.job([*self.head, _probe("user", text)]) for text in _PROBES[:2]]
        return [self.job(self.head), *probes]

    def system_end(self, text: str, of_head: Sequence[str | TemplateError]) -> int:
        """Characters of the text that belong to the head, from the results of `head_jobs`."""
        if not of_head:
            return 0
        alone, *continued = of_head
        return system_end(
            text,
            alone if isinstance(alone, str) else None,
            [other for other in continued if isinstance(other, str)],
            [str(turn["content"]).strip() for turn in self.head]
            + [_tool_name(tool) for tool in self.tools or ()],
        )

    def next_turn_jobs(self, turns: Sequence[Turn]) -> list[RenderJob]:
        """The turns with each kind of continuation a request may have, the surest first."""
        users = [self.job([*turns, _probe("user", text)], ask=True) for text in _PROBES]
        if not turns or turns[-1]["role"] not in ("user", "tool"):
            return users
        answers = [self.job([*turns, _probe("assistant", text)]) for text in _PROBES]
        return [self.job(turns, ask=True), *answers, *users]


def _turn(message: Message) -> Turn:
    """A message as templates read it: no key without a value, null content as empty text."""
    turn: Turn = {
        "role": "system" if message.role in _SYSTEM_ROLES else message.role,
        "content": message.content or "",
    }
    if message.name is not None:
        turn["name"] = message.name
    if message.tool_calls:
        turn["tool_calls"] = [_tool_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        turn["tool_call_id"] = message.tool_call_id
    if message.reasoning_content is not None:
        # Templates know the same thing by two names.
        turn["reasoning_content"] = turn["thinking"] = message.reasoning_content
    return turn


def _tool_call(call: Mapping[str, object]) -> Mapping[str, object]:
    """The call with its arguments as an object in the order they came (server case 23).

    Clients send them as JSON text, templates write them with `tojson`.
    """
    function = call.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return call
    if not isinstance(arguments, dict):
        return call
    return {**call, "function": {**function, "arguments": arguments}}


def _tool_name(tool: Mapping[str, object]) -> str:
    function = tool.get("function", tool)
    return str(function.get("name", "")) if isinstance(function, Mapping) else ""


def _probe(role: str, text: str) -> Turn:
    return {"role": role, "content": text}
