"""Which template arguments a request may set (security S7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from engine.errors import TemplateError
from engine.prompt.template import MAX_KWARGS

ALWAYS_ALLOWED = frozenset({"enable_thinking", "preserve_thinking", "reasoning_effort"})
# What Ondol itself hands to a template, and the options of the function that usually renders one.
RESERVED = frozenset(
    {
        "add_generation_prompt",
        "chat_template",
        "continue_final_message",
        "conversation",
        "documents",
        "max_length",
        "messages",
        "padding",
        "return_assistant_tokens_mask",
        "return_dict",
        "return_tensors",
        "tokenize",
        "tokenizer_kwargs",
        "tools",
        "truncation",
    }
)


def check_shape(kwargs: Mapping[str, object], reserved: Collection[str]) -> None:
    """At most MAX_KWARGS scalar values under names that are not reserved. Raises TemplateError."""
    if len(kwargs) > MAX_KWARGS:
        raise TemplateError(f"{len(kwargs)} template arguments are more than {MAX_KWARGS}.")
    for name, value in kwargs.items():
        if name in RESERVED or name in reserved:
            raise TemplateError(f"The template argument {name!r} cannot be set by a request.")
        if not isinstance(value, str | int | float | None):
            raise TemplateError(
                f"The template argument {name[:64]!r} must be a text, a number, a boolean or null."
            )


def check_names(kwargs: Mapping[str, object], variables: Collection[str]) -> None:
    """Only names that are always allowed or that the template reads. Raises TemplateError."""
    for name in kwargs:
        if name not in ALWAYS_ALLOWED and name not in variables:
            raise TemplateError(f"This model's chat template has no argument {name[:64]!r}.")
