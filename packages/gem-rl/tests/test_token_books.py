"""Token books: what was sampled, and nothing else, is trained on, whatever templates and wrappers do to the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sampled_episodes import HISTORIES, TURNS, PieceTokenizer, RandomServer, check, environments, play

from gem_rl.adapters import ChatPrompt

_LOOP = "{%- for message in messages %}"
_GENERATION = "{%- endfor %}{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
_CALLS = "{%- for call in message.tool_calls or [] %}{{ call.function.name }}{% endfor %}"
TEMPLATES = {
    "growing": f"{_LOOP}{{{{- '<' + message.role + '>' + message.content }}}}{_CALLS}{{{{- '<end>' }}}}{_GENERATION}",
    "trimming": f"{_LOOP}{{{{- '<' + message.role + '>' + message.content | trim }}}}{_CALLS}<end>{_GENERATION}",
    "forgetful": f"""{_LOOP}{{%- set text = message.content %}}
{{%- if message.role == 'assistant' %}}{{% set text = text.split('</think>')[-1].lstrip() %}}{{% endif %}}
{{{{- '<' + message.role + '>' + text }}}}{_CALLS}<end>{_GENERATION}""",
}
"""Adds at the end only; trims answers as Llama's does; drops reasoning as Qwen 3's does."""

TEXTS = ("abc", "  say ab\n", "<think>ab?</think>\n\nabc", "the message: ab", "")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Offers the environments."""
    with environments():
        yield


def call(text: str) -> Any:
    """Make some answers native calls of the tool."""
    if "ab" not in text:
        return text
    function = {"name": "add", "arguments": '{"a": 1, "b": 2}'}
    return {"content": text, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("history", ["sampled", "template"])
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("rule", HISTORIES)
def test_masks_are_exactly_what_was_sampled(template: str, rule: str, history: str) -> None:
    """For each turn, in episodes of the rollout engine: the server's own log has the same tokens and prompts."""
    server = RandomServer(PieceTokenizer(TEMPLATES[template]), TEXTS)
    parse = {"parse": call} if rule == "tools" else {}
    rows = check(play(server, "test:Talk-v0", HISTORIES[rule], history=history, **parse), server)
    assert server.retokenized > 3, "ids that survive their text prove nothing"
    if rule in ("messages", "tools") and history == "sampled":
        assert rows == [1] * 4
    elif rule == "none":
        assert rows == [TURNS] * 4
    elif rule in ("window", "summary", "budget") or template == "forgetful":
        assert max(rows) > 1


@pytest.mark.parametrize("history", ["sampled", "template"])
def test_each_agent_has_rows_of_its_own(history: str) -> None:
    """Two agents speak in the same step, and each sees its own conversation."""
    server = RandomServer(PieceTokenizer(TEMPLATES["forgetful"]), TEXTS)
    rows = check(play(server, "test:Debate-v0", (), agents=("pro", "contra"), history=history), server)
    assert len(rows) == 8


PARITY = f"""{_LOOP}{{{{- '<' + message.role + '>' }}}}
{{%- if message.role != 'assistant' %}}{{{{- loop.index0 % 2 }}}}{{% endif %}}{{{{- message.content + '<end>' }}}}
{_GENERATION}"""
"""Prints whether the index of a message is odd."""


@pytest.mark.parametrize("template", [TEMPLATES["growing"], PARITY], ids=["growing", "parity"])
@pytest.mark.parametrize("first", [["user"], ["system", "user"]], ids=len)
@pytest.mark.parametrize("messages", [3, 25])
@pytest.mark.parametrize("history", ["sampled", "template"])
def test_a_prompt_reads_as_the_template_renders_it(
    history: Any, messages: int, first: list[str], template: str
) -> None:
    """Where nothing is rewritten, the ids of a prompt are the text of the whole conversation, once it is decoded."""
    tokenizer = PieceTokenizer(template)
    prompt = ChatPrompt(tokenizer, history)
    talk: list[dict[str, Any]] = [{"role": role, "content": "Go on"} for role in first]
    for turn in range(messages):
        ids = prompt.extend(talk)
        rendered = tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
        assert tokenizer.decode(ids, skip_special_tokens=False) == rendered
        answer = f"ab{turn}"
        end = [tokenizer.end] * (turn % 2)  # which a model samples unless it was cut off
        prompt.note([tokenizer.encode(letter, add_special_tokens=False)[0] for letter in answer] + end)
        talk += [{"role": "assistant", "content": answer}, {"role": "user", "content": f"You said {answer}"}]
    assert len(set(map(tuple, [ids, tokenizer.encode(rendered, add_special_tokens=False)]))) == 2
