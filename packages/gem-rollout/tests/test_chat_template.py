"""Prompts that grow, with real Jinja templates."""

from __future__ import annotations

import random
from typing import Any

import jinja2
import jinja2.sandbox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentTypeError
from gem.wrappers.history import Message
from gem_rollout.history.chat_template import GrowingPrompt, render
from gem_rollout.history.messages import extended

CHATML = """
{%- for message in messages %}
{{- '<|' + message.role + '|>' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}{{ '[' + call.function.name + ']' }}{% endfor %}
{{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
"""

NEIGHBOURS = """
{{- bos_token }}
{%- set loop_messages = messages %}
{%- if messages[0].content %}{% set loop_messages = messages[1:] %}{% endif %}
{{- messages[0].content }}
{%- for message in loop_messages %}
{{- loop.index0 % 2 }}{{ '(first)' if loop.first }}
{%- if not loop.first and loop_messages[loop.index0 - 1].role == 'tool' %}{{ '(after a tool)' }}{% endif %}
{%- if not loop.last and loop.nextitem.role == 'tool' %}{{ '(before a tool)' }}{% endif %}
{{- message.role + ':' + message.content | trim }}
{%- if loop.last and add_generation_prompt %}{{ '(answer now)' }}{% endif %}
{%- endfor %}
{{- messages[-1].role }}
"""

FORGETFUL = """
{%- for message in messages %}
{%- set content = message.content %}
{%- if message.role == 'assistant' and loop.index0 < messages | length - 2 %}
{%- set content = content.split('</think>')[-1] %}
{%- endif %}
{{- '<|' + message.role + '|>' + content + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
"""


class Tokenizer:
    """Renders with a real Jinja template, as Hugging Face tokenizers do, and counts the messages that it renders."""

    def __init__(self, chat_template: str) -> None:
        self.chat_template = chat_template
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = self._raise
        self._template = environment.from_string(chat_template)
        self.rendered = 0

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool, **arguments: Any
    ) -> str:
        assert not tokenize
        self.rendered += len(conversation)
        return self._template.render(
            messages=conversation, add_generation_prompt=add_generation_prompt, bos_token="<s>", **arguments
        )

    @staticmethod
    def _raise(message: str) -> None:
        raise jinja2.TemplateError(message)


contents = st.sampled_from(["", "x", " y \n", "<think>z</think>w", "<|end|>", "(first)"]) | st.text("<|>ab", max_size=4)


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """An action, and what answers it: an observation, or what one or several tools say."""
    calls = draw(st.integers(0, 2))
    action: Message = {"role": "assistant", "content": draw(contents)}
    if not calls:
        return [action, {"role": draw(st.sampled_from(["user", "tool"])), "content": draw(contents)}]
    action["tool_calls"] = [{"id": str(n), "function": {"name": "f", "arguments": {}}} for n in range(calls)]
    return [action, *({"role": "tool", "tool_call_id": str(n), "content": draw(contents)} for n in range(calls))]


@given(
    template=st.sampled_from([CHATML, NEIGHBOURS, FORGETFUL]),
    first=contents,
    episode=st.lists(st.tuples(turns(), st.sampled_from(["", "", "!"])), max_size=16),
)
def test_a_growing_prompt_is_always_what_rendering_everything_gives(
    template: str, first: str, episode: list[tuple[list[Message], str]]
) -> None:
    """For templates that can be extended and for those that cannot, with suffixes that come and go."""
    tokenizer = Tokenizer(template)
    prompt = GrowingPrompt(tokenizer, {})
    messages: list[Message] = [{"role": "user", "content": first}]
    assert prompt.render(messages) == render(tokenizer, messages, {})
    for turn, suffix in episode:
        messages = [*messages, *turn]
        shown = [*messages[:-1], extended(messages[-1], "", suffix)]
        assert prompt.render(messages, suffix) == render(tokenizer, shown, {})


def conversation(turns: int) -> list[Message]:
    rng = random.Random(0)
    messages: list[Message] = [{"role": "user", "content": "rules"}]
    for _ in range(turns):
        messages += [{"role": "assistant", "content": str(rng.random())}, {"role": "user", "content": "go on"}]
    return messages


def rendered_per_turn(tokenizer: Any, turns: int, **arguments: Any) -> list[int]:
    """How many messages the tokenizer renders for each turn."""
    prompt = GrowingPrompt(tokenizer, arguments)
    counts = []
    for turn in range(turns):
        before = tokenizer.rendered
        prompt.render(conversation(turn))
        counts.append(tokenizer.rendered - before)
    return counts


@pytest.mark.parametrize("template", [CHATML, NEIGHBOURS])
def test_a_local_template_is_extended_at_constant_cost(template: str) -> None:
    """Turn 100 renders as few messages as turn 10."""
    counts = rendered_per_turn(Tokenizer(template), 100)
    assert max(counts) <= 13
    assert set(counts[10:]) == {12}


def test_a_template_that_rewrites_history_is_rendered_anew() -> None:
    """All messages at every turn."""
    assert rendered_per_turn(Tokenizer(FORGETFUL), 30) == list(range(1, 60, 2))


def test_a_template_that_cannot_be_read_is_rendered_anew() -> None:
    """Without the template's source nothing is known about it."""
    tokenizer = Tokenizer(CHATML)
    tokenizer.chat_template = None  # type: ignore[assignment]
    assert rendered_per_turn(tokenizer, 30) == list(range(1, 60, 2))
    tokenizer.chat_template = {"default": CHATML}  # type: ignore[assignment]  # several templates by name
    assert rendered_per_turn(tokenizer, 30) == list(range(1, 60, 2))


def test_a_template_among_the_arguments_is_the_one_that_counts() -> None:
    """As ``apply_chat_template`` has it."""

    class Choosing(Tokenizer):
        def apply_chat_template(self, conversation: Any, **arguments: Any) -> str:
            self.rendered += len(conversation)
            chosen = Tokenizer(arguments.pop("chat_template"))
            return chosen.apply_chat_template(conversation, **arguments)

    assert rendered_per_turn(Choosing(CHATML), 30, chat_template=FORGETFUL) == list(range(1, 60, 2))
    assert max(rendered_per_turn(Choosing(FORGETFUL), 30, chat_template=CHATML)) <= 13


def test_a_template_that_refuses_the_stand_in_is_rendered_anew() -> None:
    """Where roles stand in an order that the conversation allows and a part of it does not."""
    template = CHATML.replace(
        "{{- '<|' + message.role",
        "{%- if message.content == 'odd' and (loop.first or loop.previtem.content != 'before') %}"
        "{{ raise_exception('odd') }}{% endif %}{{- '<|' + message.role",
    )
    messages = conversation(10)
    messages[-3]["content"], messages[-2]["content"] = "before", "odd"
    tokenizer = Tokenizer(template)
    prompt = GrowingPrompt(tokenizer, {})
    assert prompt.render(messages) == render(tokenizer, messages, {})
    longer = [*messages, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    assert prompt.render(longer) == render(tokenizer, longer, {})


def test_what_the_template_refuses_is_raised() -> None:
    """A conversation that the template has no form for is a mistake in how wrapper and tokenizer were paired."""
    with pytest.raises(jinja2.TemplateError, match="no tools"):
        GrowingPrompt(Tokenizer("{{ raise_exception('no tools') }}"), {}).render(conversation(0))


def test_a_tokenizer_that_returns_ids_is_refused() -> None:
    """The message says what is expected."""

    class Ids:
        def apply_chat_template(self, conversation: Any, **arguments: Any) -> list[int]:
            return [1]

    with pytest.raises(ArgumentTypeError, match="must return a str, got list"):
        render(Ids(), conversation(0), {})
