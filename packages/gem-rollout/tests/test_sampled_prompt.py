"""Prompts as token ids that keep what was sampled."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentTypeError
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt, render_chat

USER = {"role": "user", "content": "guess"}
ANSWER = {"role": "assistant", "content": "5"}
HINT = {"role": "user", "content": "higher"}

ids = st.lists(st.integers(0, 5), max_size=4)


@given(ids, ids, ids)
def test_the_next_prompt_keeps_every_sampled_id_and_repeats_no_end_of_turn(
    prompt: list[int], sampled: list[int], added: list[int]
) -> None:
    """It is the last one, what was sampled, and what was added, whose first id the model may have said itself."""
    last = SampledPrompt()
    last.show([USER], prompt)
    assert last.continued(added) == prompt + added  # nothing was sampled
    last.sampled = sampled
    said = bool(sampled) and added[:1] == sampled[-1:]
    assert last.continued(added) == prompt + sampled + added[said:]
    last.show([USER, ANSWER, HINT], [1])
    assert (last.ids, last.sampled) == ([1], None)


NOTICED = {"role": "user", "content": "guess (one turn left)"}


@pytest.mark.parametrize(
    ("shown", "messages", "new"),
    [
        ([USER], [USER, ANSWER, HINT], [HINT]),
        ([USER], [USER, ANSWER], []),
        ([USER, ANSWER, HINT], [USER, ANSWER, HINT, ANSWER, HINT, HINT], [HINT, HINT]),
        ([NOTICED], [USER, ANSWER, HINT], [HINT]),  # a notice after the message was for its turn only
        ([{**USER, "content": "now guess"}], [USER, ANSWER, HINT], [HINT]),  # and so was one before it
        ([{"role": "user", "content": None}], [{"role": "user", "content": None}, ANSWER, HINT], [HINT]),
        ([], [USER, ANSWER, HINT], None),
        ([USER], [USER], None),
        ([USER], [USER, HINT, HINT], None),  # no answer
        ([USER], [NOTICED, ANSWER, HINT], None),  # more than was shown
        ([USER], [{**USER, "role": "tool"}, ANSWER, HINT], None),
        ([USER], [{**USER, "content": [{"type": "text", "text": "guess"}]}, ANSWER, HINT], None),
        ([NOTICED, ANSWER, HINT], [USER, ANSWER, HINT, ANSWER, HINT], None),  # rewritten before its last message
        ([USER, ANSWER, HINT], [HINT, ANSWER, HINT], None),  # a window
    ],
)
def test_what_was_shown_is_rewritten_or_goes_on(
    shown: list[dict[str, Any]], messages: list[dict[str, Any]], new: list[dict[str, Any]] | None
) -> None:
    """The messages after the latest answer, or None."""
    last = SampledPrompt()
    last.show(shown, [1])
    assert last.new_messages(messages) == new
    last.restart()
    assert last.new_messages(messages) is None


class Calls:
    """A template that shows the arguments of calls, as dicts or as text alone."""

    def __init__(self, wanted: type) -> None:
        self.wanted = wanted

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
        assert (tokenize, add_generation_prompt) == (False, True)
        arguments = [call["function"]["arguments"] for one in conversation for call in one.get("tool_calls", ())]
        if not all(isinstance(value, self.wanted) for value in arguments):
            raise TypeError("arguments of another type")
        return "".join(one["content"] for one in conversation) + "".join(map(str, arguments))


CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize(("wanted", "text"), [(dict, "guess{'a': 1}"), (str, 'guess{"a": 1}')])
def test_arguments_of_calls_have_the_type_that_the_template_wants(wanted: type, text: str) -> None:
    """Dicts, and text where the template raises for dicts."""
    messages = [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}]
    assert render_chat(Calls(wanted), messages, {}) == text
    assert messages[1]["tool_calls"] == [CALL]


def test_what_a_template_raises_is_passed_on() -> None:
    """And a missing content is an empty text."""
    with pytest.raises(TypeError, match="another type"):
        render_chat(Calls(int), [{"role": "assistant", "content": "", "tool_calls": [CALL]}], {})
    assert render_chat(Calls(dict), [{"role": "assistant", "content": None}], {}) == ""

    class Numbers:
        def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
            return [1]

    with pytest.raises(ArgumentTypeError, match="must return a str"):
        render_chat(Numbers(), [USER], {})
