from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import EmptyPrompt, TemplateError
from engine.prompt.chat import ChatFormatter, Message
from engine.prompt.codec import InvalidText, TextCodec
from engine.prompt.template import TemplateRenderer
from engine.request import Prompt

CHATML = (
    "{% for m in messages %}"
    "{% if loop.first and m.role != 'system' %}"
    "{{ '<|im_start|>system\nYou are a floor.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + m.role + '\n' + m.content }}"
    "{% for call in m.tool_calls %}"
    "{{ '<tool_call>' + call.function.name + ' ' + (call.function.arguments | tojson) }}"
    "{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking is defined and not enable_thinking %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
)
LLAMA3 = (
    "{{ bos_token }}{% set first = 0 %}{% set system = '' %}"
    "{% if messages and messages[0].role == 'system' %}"
    "{% set system = messages[0].content | trim %}{% set first = 1 %}{% endif %}"
    "{% if system or tools %}"
    "{{ '<|start_header_id|>system<|end_header_id|>\n\n' }}"
    "{% if date_string is defined %}{{ 'Today: ' + date_string + '\n\n' }}{% endif %}"
    "{{ system + '<|eot_id|>' }}{% endif %}"
    "{% if tools and messages | length <= first %}"
    "{{ raise_exception('No user message.') }}{% endif %}"
    "{% for m in messages[first:] %}"
    "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }}"
    "{% if loop.first and tools %}{{ (tools | tojson) + '\n\n' }}{% endif %}"
    "{{ (m.content | trim) + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
STRICT = (
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('System message must be at the beginning.') }}{% endif %}{% endfor %}"
    + CHATML
)
GEMMA = (
    "{{ bos_token }}{% set first = '' %}{% set turns = messages %}"
    "{% if messages and messages[0].role == 'system' %}"
    "{% set first = messages[0].content + '\n\n' %}{% set turns = messages[1:] %}{% endif %}"
    "{% for m in turns %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate.') }}{% endif %}"
    "{{ '<start_of_turn>' + m.role + '\n' + (first if loop.first else '') + (m.content | trim) }}"
    "{{ '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
HOISTING = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\n' }}"
    "{% endif %}{% endfor %}"
    "{% for m in messages %}{% if m.role != 'system' %}{{ m.role + ': ' + m.content + '\n' }}"
    "{% endif %}{% endfor %}"
)
DROPPING = (
    "{% for m in messages %}{% if m.role != 'system' %}"
    "{{ m.role + ': ' + m.content + '\n' }}{% endif %}{% endfor %}"
)
SPECIAL_TOKENS = {"bos_token": "<|begin_of_text|>"}
TOOLS = [{"type": "function", "function": {"name": "set_heat", "parameters": {"room": {}}}}]

SYSTEM = Message("system", "Be warm.")
USER = Message("user", "a")
ASSISTANT = Message("assistant", "b")
NOTE = Message("system", "note 1")
LATE_NOTE = [USER, ASSISTANT, NOTE, Message("user", "c")]


@pytest.fixture(scope="module")
def renderer() -> Iterator[TemplateRenderer]:
    renderer = TemplateRenderer()
    yield renderer
    renderer.close()


class Chats:
    """Formats with any template and shows prompts as texts."""

    def __init__(self, codec: TextCodec, renderer: TemplateRenderer) -> None:
        self.codec = codec
        self.renderer = renderer

    def formatter(self, template: str | None) -> ChatFormatter:
        return ChatFormatter(self.codec, template, SPECIAL_TOKENS, self.renderer)

    def text(self, ids: tuple[int, ...]) -> str:
        """With special tokens, which decoding leaves out."""
        return self.codec._tokenizer.decode(ids, skip_special_tokens=False)

    def parts(self, prompt: Prompt) -> dict[str, str]:
        check_cover(prompt)
        return {s.name: self.text(prompt.tokens[s.start : s.end]) for s in prompt.segments}

    def format(self, template: str, *messages: Message, **kwargs: object) -> dict[str, str]:
        return self.parts(self.formatter(template).format(messages, **kwargs))  # type: ignore[arg-type]

    def whole(self, template: str, *messages: Message, **kwargs: object) -> str:
        return "".join(self.format(template, *messages, **kwargs).values())


@pytest.fixture(scope="module")
def chats(byte_codec: TextCodec, renderer: TemplateRenderer) -> Chats:
    return Chats(byte_codec, renderer)


def check_cover(prompt: Prompt) -> None:
    assert prompt.segments[0].start == 0
    assert prompt.segments[-1].end == len(prompt.tokens)
    for left, right in pairwise(prompt.segments):
        assert left.end == right.start
    assert all(segment.start < segment.end for segment in prompt.segments)


def test_segments_of_a_chatml_prompt(chats: Chats) -> None:
    assert chats.format(CHATML, SYSTEM, USER) == {
        "system": "<|im_start|>system\nBe warm.<|im_end|>\n",
        "messages": "<|im_start|>user\na<|im_end|>\n",
        "generation": "<|im_start|>assistant\n",
    }


def test_without_system_and_tools_there_is_no_system_segment(chats: Chats) -> None:
    assert chats.format(CHATML, USER) == {
        "messages": (
            "<|im_start|>system\nYou are a floor.<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
        ),
        "generation": "<|im_start|>assistant\n",
    }


def test_segments_of_a_llama_prompt(chats: Chats) -> None:
    assert chats.format(LLAMA3, SYSTEM, USER, ASSISTANT, USER) == {
        "system": (
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe warm.<|eot_id|>"
        ),
        "messages": (
            "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nb<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
        ),
        "generation": "<|start_header_id|>assistant<|end_header_id|>\n\n",
    }


def test_tools_inside_the_first_user_turn_belong_to_the_system_segment(chats: Chats) -> None:
    """The template refuses to render the head alone."""
    parts = chats.format(LLAMA3, SYSTEM, USER, tools=TOOLS)
    assert parts["system"].endswith('"parameters": {"room": {}}}}]\n\n')
    assert parts["messages"] == "a<|eot_id|>"


def test_a_system_text_inside_the_first_user_turn_is_the_system_segment(chats: Chats) -> None:
    """The template renders the head alone, but not its text."""
    assert chats.format(GEMMA, SYSTEM, USER) == {
        "system": "<|begin_of_text|><start_of_turn>user\nBe warm.\n\n",
        "messages": "a<end_of_turn>\n",
        "generation": "<start_of_turn>model\n",
    }


def test_a_template_that_leaves_the_system_text_out_gives_no_system_segment(chats: Chats) -> None:
    assert chats.format(DROPPING, SYSTEM, USER) == {"messages": "user: a\n"}


def test_a_generation_prompt_the_template_lacks_is_no_segment(chats: Chats) -> None:
    assert chats.format(HOISTING, SYSTEM, USER) == {
        "system": "Be warm.\n",
        "messages": "user: a\n",
    }


def test_leading_system_messages_become_one(chats: Chats) -> None:
    """Server case 29."""
    head = [Message("system", "a"), Message("developer", "b"), Message("system", None)]
    for template in (CHATML, STRICT):
        parts = chats.format(template, *head, Message("user", "c"))
        assert parts["system"] == "<|im_start|>system\na\n\nb<|im_end|>\n"
        assert parts["messages"] == "<|im_start|>user\nc<|im_end|>\n"


def test_an_empty_system_message_stays_one(chats: Chats) -> None:
    """It says that the template's default text is not wanted."""
    text = chats.whole(CHATML, Message("system", ""), USER)
    assert text.startswith("<|im_start|>system\n<|im_end|>\n<|im_start|>user\n")


def test_a_late_system_message_is_rendered_at_its_place(chats: Chats) -> None:
    """Server case 28."""
    before = chats.formatter(CHATML).format(LATE_NOTE[:2]).tokens
    prompt = chats.formatter(CHATML).format(LATE_NOTE)
    num_shared = len(before) - len(chats.codec.encode_ids("<|im_start|>assistant\n"))
    assert prompt.tokens[:num_shared] == before[:num_shared]
    assert chats.text(prompt.tokens[num_shared:]) == (
        "<|im_start|>system\nnote 1<|im_end|>\n<|im_start|>user\nc<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_refused_late_system_message_becomes_a_reminder_at_its_place(chats: Chats) -> None:
    """Client rule B3."""
    before = chats.formatter(STRICT).format(LATE_NOTE[:2]).tokens
    prompt = chats.formatter(STRICT).format(LATE_NOTE)
    num_shared = len(before) - len(chats.codec.encode_ids("<|im_start|>assistant\n"))
    assert prompt.tokens[:num_shared] == before[:num_shared]
    assert chats.text(prompt.tokens[num_shared:]) == (
        "<|im_start|>user\n<system-reminder>note 1</system-reminder><|im_end|>\n"
        "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_reminder_joins_its_neighbour_where_roles_must_alternate(chats: Chats) -> None:
    text = chats.whole(GEMMA, *LATE_NOTE)
    assert text.endswith(
        "<start_of_turn>assistant\nb<end_of_turn>\n<start_of_turn>user\n"
        "<system-reminder>note 1</system-reminder>\n\nc<end_of_turn>\n<start_of_turn>model\n"
    )


@pytest.mark.parametrize("template", [HOISTING, DROPPING], ids=["hoisting", "dropping"])
def test_a_late_system_message_that_would_move_or_vanish_becomes_a_reminder(
    chats: Chats, template: str
) -> None:
    assert chats.whole(template, *LATE_NOTE) == (
        "user: a\nassistant: b\nuser: <system-reminder>note 1</system-reminder>\nuser: c\n"
    )


def test_a_refusal_with_another_cause_is_told(chats: Chats) -> None:
    with pytest.raises(TemplateError, match="roles must alternate"):
        chats.format(GEMMA, ASSISTANT, NOTE, USER)


def test_null_content_is_empty_text_and_keeps_its_tool_calls(chats: Chats) -> None:
    """Server cases 17 and 23: the arguments keep the order the client sent them in."""
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "set_heat", "arguments": '{"room": "온돌방", "b": 2, "a": 1}'},
    }
    text = chats.whole(
        CHATML,
        USER,
        Message("assistant", None, tool_calls=(call,)),
        Message("tool", "42", tool_call_id="1"),
    )
    assert (
        '<|im_start|>assistant\n<tool_call>set_heat {"room": "온돌방", "b": 2, "a": 1}<|im_end|>\n'
        "<|im_start|>tool\n42<|im_end|>\n"
    ) in text


@pytest.mark.parametrize("arguments", ["not json", "[1]", "[" * 100_000, {"a": 1}])
def test_arguments_that_are_no_json_object_text_are_left_alone(
    chats: Chats, arguments: object
) -> None:
    template = "{{ messages[0].tool_calls[0].function.arguments | tojson }}"
    message = Message("assistant", tool_calls=({"function": {"arguments": arguments}},))
    assert chats.whole(template, message) == json.dumps(arguments)


def test_templates_see_only_the_keys_that_have_a_value(chats: Chats) -> None:
    template = "{% for m in messages %}{{ m | tojson }}{% endfor %}"
    assert chats.whole(template, Message("user", "a")) == '{"role": "user", "content": "a"}'
    full = Message("tool", "a", name="f", tool_call_id="7", reasoning_content="why")
    assert chats.whole(template, full) == (
        '{"role": "tool", "content": "a", "name": "f", "tool_call_id": "7",'
        ' "reasoning_content": "why", "thinking": "why"}'
    )


@pytest.mark.parametrize("content", ["", "hi"])
def test_short_user_turns_are_prompts(chats: Chats, content: str) -> None:
    """Server case 30."""
    assert chats.format(LLAMA3, Message("user", content))["generation"]


def test_no_messages_are_refused(chats: Chats) -> None:
    """Server case 30."""
    with pytest.raises(EmptyPrompt):
        chats.formatter(CHATML).format([])


@pytest.mark.parametrize("template", [None, ""])
def test_a_model_without_a_template_says_so(chats: Chats, template: str | None) -> None:
    for ask in (chats.formatter(template).format, chats.formatter(template).prefix):
        with pytest.raises(TemplateError, match="no chat template"):
            ask([USER])


def test_lone_surrogates_are_refused(chats: Chats) -> None:
    with pytest.raises(InvalidText, match=r"U\+D83D"):
        chats.format(CHATML, Message("user", "\ud83d"))


def test_allowed_template_arguments_reach_the_template(chats: Chats) -> None:
    parts = chats.format(CHATML, USER, template_kwargs={"enable_thinking": False})
    assert parts["generation"] == "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    parts = chats.format(LLAMA3, SYSTEM, USER, template_kwargs={"date_string": "today"})
    assert "Today: today\n\nBe warm." in parts["system"]
    # Always allowed, also where the template does not look at it.
    assert chats.format(LLAMA3, USER, template_kwargs={"reasoning_effort": "low"})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"tokenize": True}, "'tokenize' cannot be set"),
        ({"messages": []}, "'messages' cannot be set"),
        ({"tools": None}, "'tools' cannot be set"),
        ({"add_generation_prompt": False}, "'add_generation_prompt' cannot be set"),
        ({"chat_template": "x"}, "'chat_template' cannot be set"),
        ({"bos_token": "x"}, "'bos_token' cannot be set"),
        ({"raise_exception": 1}, "no argument 'raise_exception'"),
        ({"unheard_of": 1}, "no argument 'unheard_of'"),
        ({"date_string": ["x"]}, "'date_string' must be"),
        ({"enable_thinking": {}}, "'enable_thinking' must be"),
        ({f"a{place}": 1 for place in range(100_000)}, "100000 template arguments"),
        ({f"a{place}": 1 for place in range(33)}, "more than 32"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_other_template_arguments_are_refused(
    chats: Chats, arguments: dict[str, object], told: str
) -> None:
    """Security S7."""
    with pytest.raises(TemplateError, match=told):
        chats.format(LLAMA3, USER, template_kwargs=arguments)


CONTENT = st.text(alphabet="a1 \n\t.<|é한😀", max_size=12)
CHAT = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant", "developer"]), CONTENT),
    min_size=1,
    max_size=5,
)


@given(messages=CHAT, template=st.sampled_from([CHATML, LLAMA3, STRICT, HOISTING]))
def test_segments_cover_all_tokens_in_order(
    codec: TextCodec, renderer: TemplateRenderer, messages: list[Message], template: str
) -> None:
    prompt = ChatFormatter(codec, template, SPECIAL_TOKENS, renderer).format(messages)
    check_cover(prompt)
    names = [segment.name for segment in prompt.segments]
    assert names == [n for n in ("system", "messages", "generation") if n in names]


@given(system=CONTENT, content=CONTENT, template=st.sampled_from([CHATML, LLAMA3, STRICT, GEMMA]))
def test_every_longer_chat_begins_with_the_prefix(
    codec: TextCodec, renderer: TemplateRenderer, system: str, content: str, template: str
) -> None:
    formatter = ChatFormatter(codec, template, SPECIAL_TOKENS, renderer)
    head = [Message("system", system)]
    pin = formatter.prefix(head, TOOLS)
    check_cover(pin)
    for rest in ([Message("user", content)], [Message("user", content), ASSISTANT, USER]):
        tokens = formatter.format([*head, *rest], TOOLS).tokens
        assert tokens[: len(pin.tokens)] == pin.tokens


def test_a_prefix_ends_where_the_next_user_turn_begins(chats: Chats) -> None:
    pin = chats.formatter(CHATML).prefix([SYSTEM])
    parts = chats.parts(pin)
    assert parts["system"] == "<|im_start|>system\nBe warm.<|im_end|>\n"
    assert "<|im_start|>user\n".startswith(parts["messages"])
    assert parts["messages"].startswith("<|im_start|>user")


def test_a_prefix_has_no_token_that_depends_on_the_next_turn(chats: Chats) -> None:
    """The space before the next content becomes part of its first word."""
    template = "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}"
    formatter = chats.formatter(template)
    pin = formatter.prefix([SYSTEM]).tokens
    assert chats.text(pin) == "system: Be warm.\nuser:"
    cut_text = chats.codec.encode_ids("system: Be warm.\nuser: ")
    tokens = formatter.format([SYSTEM, Message("user", "fox")]).tokens
    assert tokens[: len(pin)] == pin
    assert tokens[: len(cut_text)] != cut_text


def test_a_prefix_that_ends_with_a_user_turn_has_no_generation_prompt(chats: Chats) -> None:
    pin = chats.formatter(CHATML).prefix([SYSTEM, USER], template_kwargs={"enable_thinking": False})
    assert chats.parts(pin)["messages"] == "<|im_start|>user\na<|im_end|>\n<|im_start|>"
    alternating = chats.formatter(GEMMA).prefix([SYSTEM, USER])
    assert chats.text(alternating.tokens).endswith("a<end_of_turn>\n<start_of_turn>")


def test_a_prefix_of_tools_alone(chats: Chats) -> None:
    assert "set_heat" in chats.parts(chats.formatter(LLAMA3).prefix([], TOOLS))["system"]


def test_a_prefix_nothing_can_follow_is_refused(chats: Chats) -> None:
    template = "{% if messages | length > 1 %}{{ raise_exception('One turn only.') }}{% endif %}x"
    with pytest.raises(TemplateError, match="One turn only"):
        chats.formatter(template).prefix([SYSTEM])
    with pytest.raises(TemplateError, match="no further turn"):
        chats.formatter(template).prefix([USER])
