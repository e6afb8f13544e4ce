"""Messages, ConcatChat and ConcatChatOnReset: the history as a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import jinja2
import pytest

import gem
from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError, StateError
from gem.tools import ToolEnvWrapper, tool
from gem.tools.wrapper import LIMIT_REACHED
from gem_rollout.history.chat_history import ConcatChat, ConcatChatOnReset, Messages

CHATML = """
{%- for message in messages %}
{{- '<' + message.role + '>' }}
{%- if message.content is string %}{{ message.content }}
{%- else %}{% for part in message.content %}{{ part.text if part.type == 'text' else '<picture>' }}{% endfor %}
{%- endif %}
{%- for call in message.tool_calls or [] %}
{%- for name, value in call.function.arguments | items %}{{ '[' + name + '=' + value | string + ']' }}{% endfor %}
{%- endfor %}
{{- '</' + message.role + '>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{{ mode }}{% endif %}
"""

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


ALTERNATING = """
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{{- '<' + message.role + '>' + message.content + '</' + message.role + '>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}
"""
"""As the templates of Gemma and the first ones of Mistral: user and assistant in turn, and no other role."""

SILENT = ALTERNATING.replace("{%- if (m", "{%- if message.role == 'tool' %}{%- continue %}{% endif %}{%- if (m")
"""Drops the messages of tools without a word."""


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(identifier: str | None, name: str, arguments: Any) -> dict[str, Any]:
    named = {} if identifier is None else {"id": identifier}
    return {**named, "type": "function", "function": {"name": name, "arguments": arguments}}


class Tokenizer:
    def __init__(self, chat_template: str = CHATML) -> None:
        self.chat_template = chat_template
        environment = jinja2.Environment(extensions=["jinja2.ext.loopcontrols"])
        environment.globals["raise_exception"] = self._raise
        self._template = environment.from_string(chat_template)

    @staticmethod
    def _raise(message: str) -> None:
        raise jinja2.TemplateError(message)

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool, **arguments: Any
    ) -> str:
        assert not tokenize
        return self._template.render(messages=conversation, add_generation_prompt=add_generation_prompt, **arguments)


class Script(Env[Any, Any]):
    """Says the given observations and infos, the last one for ever."""

    def __init__(self, *lines: Any) -> None:
        self.lines = [line if isinstance(line, tuple) else (line, {}) for line in lines]
        self.said = 0

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: Any) -> None:
        pass

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self.said = 0
        return self.lines[0]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        self.said = min(self.said + 1, len(self.lines) - 1)
        observation, info = self.lines[self.said]
        return observation, 0.0, False, False, info


def shown(env: Env[Any, Any], actions: Sequence[Any]) -> list[Any]:
    """Everything that the agent sees in an episode with these actions."""
    return [env.reset()[0], *(env.step(action)[0] for action in actions)]


def chat(*lines: Any, **arguments: Any) -> ConcatChat:
    return ConcatChat(Script(*lines), tokenizer=Tokenizer(), **arguments)


def on_reset(*lines: Any, **arguments: Any) -> ConcatChatOnReset:
    return ConcatChatOnReset(Script(*lines), tokenizer=Tokenizer(), **arguments)


class TestConcatChat:
    """The conversation as one text."""

    def test_turns_alternate_between_user_and_assistant(self) -> None:
        """The prompt ends with the opening of the assistant's turn; nothing is added to contents."""
        assert shown(chat("rules", "one\n", "two"), ["a", ""]) == [
            "<user>rules</user><assistant>",
            "<user>rules</user><assistant>a</assistant><user>one\n</user><assistant>",
            "<user>rules</user><assistant>a</assistant><user>one\n</user><assistant></assistant><user>two</user><assistant>",
        ]

    def test_a_tools_answer_is_a_tool_message(self) -> None:
        """And the parsed action takes the place of the action."""
        env = chat("rules", ("four", {"use_tool": True, "parsed_action": "<dice/>"}), "two")
        assert shown(env, ["<dice/> and more", "b"])[-1] == (
            "<user>rules</user><assistant><dice/></assistant><tool>four</tool>"
            "<assistant>b</assistant><user>two</user><assistant>"
        )

    def test_the_suffix_stands_inside_the_last_message(self) -> None:
        """Not in the assistant's turn; earlier suffixes are gone."""
        env = chat(("rules", {"suffix": " board 0"}), ("one", {"suffix": " board 1"}), "two")
        assert shown(env, ["a", "b"]) == [
            "<user>rules board 0</user><assistant>",
            "<user>rules</user><assistant>a</assistant><user>one board 1</user><assistant>",
            "<user>rules</user><assistant>a</assistant><user>one</user><assistant>b</assistant><user>two</user><assistant>",
        ]

    def test_the_prefix_stands_inside_the_first_message(self) -> None:
        """So the template's own beginning stays the beginning."""
        env = chat("rules", ("one", {"prefix": "Turn 1. "}), "two")
        assert shown(env, ["a", "b"])[1:] == [
            "<user>Turn 1. rules</user><assistant>a</assistant><user>one</user><assistant>",
            "<user>rules</user><assistant>a</assistant><user>one</user><assistant>b</assistant><user>two</user><assistant>",
        ]

    def test_max_history_length_keeps_the_latest_turns(self) -> None:
        """The first observation falls out, as published; prefix and suffix stand in what is left."""
        env = chat("0", "1", "2", ("3", {"prefix": "p", "suffix": "s"}), max_history_length=1)
        assert shown(env, ["a", "b", "c"]) == [
            "<user>0</user><assistant>",
            "<user>0</user><assistant>a</assistant><user>1</user><assistant>",
            "<user>1</user><assistant>b</assistant><user>2</user><assistant>",
            "<user>p2</user><assistant>c</assistant><user>3s</user><assistant>",
        ]

    def test_long_episodes_are_rendered_exactly(self) -> None:
        """Where the prompt is extended, it is what rendering everything gives."""
        lines = [(f"line {n}\n", {"suffix": "!"} if n % 3 == 0 else {}) for n in range(40)]
        env = chat(*lines)
        prompts = shown(env, [f"action {n}" for n in range(39)])
        for turn, prompt in enumerate(prompts):
            messages = [user(lines[0][0])]
            for n in range(turn):
                messages += [assistant(f"action {n}"), user(lines[n + 1][0])]
            messages[-1] = user(messages[-1]["content"] + lines[turn][1].get("suffix", ""))
            assert prompt == Tokenizer().apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

    def test_pictures_follow_the_text_in_order(self) -> None:
        """The template marks their places, and the agent gets them with the text."""
        other = {**PICTURE, "detail": "low"}
        env = chat([text("Look: "), PICTURE], [other], [text("plain "), text("text")])
        prompts = shown(env, ["a", "b"])
        begin = "<user>Look: <picture></user><assistant>a</assistant><user><picture></user><assistant>"
        assert prompts[0] == [text("<user>Look: <picture></user><assistant>"), PICTURE]
        assert prompts[1] == [text(begin), PICTURE, other]
        assert prompts[2] == [text(begin + "b</assistant><user>plain text</user><assistant>"), PICTURE, other]

    def test_pictures_are_part_of_the_state(self) -> None:
        """An instance that takes over shows them."""
        env, twin = chat([PICTURE], "one", "two"), chat("one", "two")
        shown(env, ["a"])
        twin.set_state(json.loads(json.dumps(env.get_state())))
        assert twin.step("b")[0][1:] == [PICTURE]

    def test_each_episode_is_rendered_with_the_template_of_its_time(self) -> None:
        """A tokenizer's template may be replaced between episodes."""
        tokenizer = Tokenizer()
        env = ConcatChat(Script("rules", "one"), tokenizer=tokenizer)
        shown(env, ["a"] * 20)
        tokenizer.__init__(CHATML.replace("{%- for message", "{{- messages | length }}{%- for message"))  # type: ignore[misc]
        prompts = shown(env, ["a"] * 20)
        assert [prompt.partition("<")[0] for prompt in prompts] == [str(2 * turn + 1) for turn in range(21)]

    def test_pictures_that_fell_out_of_the_window_are_gone(self) -> None:
        """With a limit only the pictures of shown messages follow."""
        env = chat([PICTURE], [text("one")], [text("two")], max_history_length=1)
        assert shown(env, ["a", "b"])[-1] == "<user>one</user><assistant>b</assistant><user>two</user><assistant>"

    def test_native_calls_reach_the_template_with_their_arguments(self) -> None:
        """As objects, which templates expect, though chat APIs send text; what is no object is written out."""
        env = chat("rules", "one", "two")
        message = assistant(None, tool_calls=[call("1", "add", '{"a": 1}')])
        broken = assistant("hm", tool_calls=[call("2", "add", '{"a": ')])
        assert shown(env, [message, broken])[-1] == (
            "<user>rules</user><assistant>[a=1]</assistant><tool>one</tool>"
            '<assistant>hm\n<tool_call>{"name": "add", "arguments": {"a": }</tool_call></assistant>'
            "<user>two</user><assistant>"
        )

    @pytest.mark.parametrize("template", [ALTERNATING, SILENT], ids=["raises", "drops"])
    def test_a_template_without_tool_messages_gets_those_of_a_user(self, template: str) -> None:
        """Nothing raises: answers of tools are one message of the user, and native calls are text."""
        tool_info: Info = {"use_tool": True, "tool_results": [{"text": "one"}, {"text": "two"}]}
        env = ConcatChat(
            Script("rules", ("four", {"use_tool": True}), ("two", tool_info)), tokenizer=Tokenizer(template)
        )
        native = assistant(None, tool_calls=[call("1", "add", "{}"), call("2", "add", "{}")])
        written = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'
        assert shown(env, ["<dice/>", native])[-1] == (
            "<user>rules</user><assistant><dice/></assistant><user>four</user>"
            f"<assistant>{written}\n{written}</assistant><user>one\ntwo</user><assistant>"
        )

    def test_a_template_that_refuses_every_conversation_is_refused_at_construction(self) -> None:
        """The error has the template's own words, and nothing is left for an episode to find out."""
        with pytest.raises(ArgumentError, match="no conversation at all"):
            ConcatChat(Script("rules"), tokenizer=Tokenizer("{{ raise_exception('no conversation at all') }}"))

    def test_arguments_go_on_to_the_template(self) -> None:
        """Those that the wrapper sets itself cannot be set."""
        env = chat("rules", chat_template_kwargs={"mode": "(no thinking)"})
        assert env.reset()[0] == "<user>rules</user><assistant>(no thinking)"
        with pytest.raises(ArgumentError, match="tokenize"):
            chat("rules", chat_template_kwargs={"tokenize": True})
        with pytest.raises(ArgumentTypeError, match="must be a dict"):
            chat("rules", chat_template_kwargs="mode")

    @pytest.mark.parametrize("wrapper", [ConcatChat, ConcatChatOnReset])
    @pytest.mark.parametrize("tokenizer", [None, object(), "gpt2"])
    def test_a_tokenizer_is_needed(self, wrapper: Any, tokenizer: Any) -> None:
        """The message says which object came and how to pass another."""
        with pytest.raises(ArgumentTypeError, match=r"apply_chat_template.*gem\.wrapper"):
            wrapper(Script("rules"), tokenizer=tokenizer)

    @pytest.mark.parametrize("action", [None, 3, b"x", [], {"content": 5}, {"tool_calls": [{}]}, {"content": object()}])
    def test_no_action_raises(self, action: Any) -> None:
        """What has no text is an empty message of the assistant."""
        assert shown(chat("rules", "one"), [action])[-1] == (
            "<user>rules</user><assistant></assistant><user>one</user><assistant>"
        )


class TestConcatChatOnReset:
    """The first observation as a chat, the rest as text."""

    def test_what_follows_the_first_message_is_plain_text(self) -> None:
        """Each piece ends with a newline, the rendered message too."""
        assert shown(on_reset("rules", "one", "two"), ["a", "b"]) == [
            "<user>rules</user><assistant>\n",
            "<user>rules</user><assistant>\na\none\n",
            "<user>rules</user><assistant>\na\none\nb\ntwo\n",
        ]

    def test_actions_can_be_left_out(self) -> None:
        """As the original's one class allowed."""
        assert (
            shown(on_reset("rules", "one", include_action=False), ["a"])[-1] == "<user>rules</user><assistant>\none\n"
        )
        with pytest.raises(ArgumentTypeError, match="include_action"):
            on_reset("rules", include_action=1)

    def test_affixes_stand_in_the_message_or_at_the_end(self) -> None:
        """A suffix is inside the message on the first turn, and ends the text later."""
        env = on_reset(("rules", {"prefix": "P", "suffix": "S"}), ("one", {"prefix": "Q", "suffix": "T"}), "two")
        assert shown(env, ["a", "b"]) == [
            "<user>PrulesS</user><assistant>\n",
            "<user>Qrules</user><assistant>\na\none\nT",
            "<user>rules</user><assistant>\na\none\nb\ntwo\n",
        ]

    @pytest.mark.parametrize(
        ("include_action", "last"), [(True, ["<user>0</user><assistant>\na\n1\n", "1\nb\n2\n"]), (False, None)]
    )
    def test_max_history_length_lets_the_message_fall_out(self, include_action: bool, last: list[str] | None) -> None:
        """As published."""
        env = on_reset("0", "1", "2", max_history_length=1, include_action=include_action)
        expected = last or ["<user>0</user><assistant>\n1\n", "1\n2\n"]
        assert shown(env, ["a", "b"])[1:] == expected

    def test_the_message_is_rendered_once(self) -> None:
        """Later turns reuse it."""
        calls: list[Any] = []

        class Counting(Tokenizer):
            def apply_chat_template(self, conversation: Any, **arguments: Any) -> str:
                calls.append(conversation)
                return super().apply_chat_template(conversation, **arguments)

        shown(ConcatChatOnReset(Script("rules", "one"), tokenizer=Counting()), ["a"] * 10)
        assert len(calls) == 2

    def test_pictures_of_the_first_message_follow_it(self) -> None:
        """Then comes the text of later turns."""
        env = on_reset([text("Look: "), PICTURE], "one")
        message = "<user>Look: <picture></user><assistant>\n"
        assert shown(env, ["a"]) == [[text(message), PICTURE], [text(message), PICTURE, text("a\none\n")]]


@tool
def add(a: int, b: int) -> int:
    """Add two whole numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


class TestMessages:
    """The conversation as a list of messages."""

    def test_turns_alternate_between_user_and_assistant(self) -> None:
        """Contents are untouched."""
        assert shown(Messages(Script("rules", "one\n")), ["a"]) == [
            [user("rules")],
            [user("rules"), assistant("a"), user("one\n")],
        ]

    def test_affixes_stand_inside_the_messages(self) -> None:
        """Those of the latest info alone."""
        env = Messages(Script(("rules", {"suffix": "S"}), ("one", {"prefix": "P", "suffix": "T"}), "two"))
        assert shown(env, ["a", "b"]) == [
            [user("rulesS")],
            [user("Prules"), assistant("a"), user("oneT")],
            [user("rules"), assistant("a"), user("one"), assistant("b"), user("two")],
        ]

    def test_an_answer_to_a_call_in_text_is_a_message_of_the_user(self) -> None:
        """Chat APIs refuse tool messages that answer no native call."""
        env = Messages(ToolEnvWrapper(Script("rules"), [add], instructions=False))
        action = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call> Done.'
        assert shown(env, [action])[-1] == [user("rules"), assistant(action.removesuffix(" Done.")), user("3")]

    def test_native_calls_stay_and_are_answered_with_their_ids(self) -> None:
        """The assistant's message is kept as it is, and each call gets a tool message of its own."""
        env = Messages(ToolEnvWrapper(Script("rules"), [add], max_tool_uses=3, instructions=False))
        one = assistant("Let me see.", tool_calls=[call("x", "add", '{"a": 1, "b": 2}')], refusal=None)
        two = assistant(None, tool_calls=[call("y", "add", {"a": 3, "b": 4}), call(None, "nothing", "{}")])
        messages = shown(env, [one, two])[-1]
        assert messages[:5] == [
            user("rules"),
            one,
            {"role": "tool", "tool_call_id": "x", "content": "3"},
            two,
            {"role": "tool", "tool_call_id": "y", "content": "7"},
        ]
        last = messages[5]
        assert (len(messages), last["role"], "tool_call_id" in last) == (6, "tool", False)
        assert "no tool called 'nothing'" in last["content"]
        assert last["content"].endswith(LIMIT_REACHED)

    def test_pictures_from_tools_stay_with_their_calls(self) -> None:
        """Also when several calls share an observation."""
        shot = gem.tools.ToolResult("seen", content=(PICTURE,))

        @tool
        def look() -> gem.tools.ToolResult:
            """Look."""
            return shot

        env = Messages(ToolEnvWrapper(Script("rules"), [add, look], max_tool_uses=2, instructions=False))
        calls = [call("x", "add", {"a": 1, "b": 1}), call("y", "look", {})]
        assert shown(env, [assistant("", tool_calls=calls)])[-1][2:] == [
            {"role": "tool", "tool_call_id": "x", "content": "2"},
            {"role": "tool", "tool_call_id": "y", "content": [text("seen"), PICTURE, text(LIMIT_REACHED)]},
        ]

    def test_calls_that_no_tool_answered_are_answered_all_the_same(self) -> None:
        """An environment without tools says something; it stands in the message for the last call."""
        env = Messages(Script("rules", "not understood"))
        calls = [call("x", "add", "{}"), call("y", "add", "{}")]
        assert shown(env, [assistant("", tool_calls=calls)])[-1][2:] == [
            {"role": "tool", "tool_call_id": "x", "content": ""},
            {"role": "tool", "tool_call_id": "y", "content": "not understood"},
        ]

    def test_the_parsed_action_takes_the_place_of_the_text(self) -> None:
        """Also in an assistant message, the rest of which stays."""
        env = Messages(Script("rules", ("one", {"parsed_action": "a"})))
        message = shown(env, [assistant("a and more", reasoning_content="why")])[-1][1]
        assert message == assistant("a", reasoning_content="why")

    @pytest.mark.parametrize(
        "messages", [{}, [3], [{"role": "user"}], [{"content": "x"}], [{"role": 1, "content": ""}]]
    )
    @pytest.mark.parametrize("wrapper", [Messages, ConcatChat])
    def test_a_state_without_messages_is_refused(self, wrapper: Any, messages: Any) -> None:
        """Before anything is changed."""
        env = wrapper(Script("rules"), **({"tokenizer": Tokenizer()} if wrapper is ConcatChat else {}))
        with pytest.raises(StateError):
            env.set_state({"env": {}, "wrapper": {"messages": messages, "answers": []}})

    def test_malformed_calls_are_no_calls(self) -> None:
        """No chat API would take them back, so they leave the message."""
        action = assistant("hm", tool_calls=[call("x", "add", "{}"), {"id": "y", "function": None}])
        assert shown(Messages(Script("rules", "one")), [action])[-1] == [user("rules"), assistant("hm"), user("one")]

    def test_pictures_stay_parts(self) -> None:
        """As the environment gave them, with a suffix as one more part."""
        env = Messages(Script([text("Look:"), PICTURE], ([PICTURE], {"suffix": "now"})))
        assert shown(env, ["a"])[-1] == [user([text("Look:"), PICTURE]), assistant("a"), user([PICTURE, text("now")])]

    def test_changing_what_was_passed_in_changes_no_history(self) -> None:
        """Actions and observations are copied, and each observation is a list of its own."""
        action = assistant("a", tool_calls=[call("x", "add", "{}")])
        own = [text("rules")]
        env = Messages(Script(own, "one"))
        env.reset()[0].append("forged")
        first = env.step(action)[0]
        expected = json.dumps(first)
        action["tool_calls"][0]["function"]["name"] = own[0]["text"] = "forged"
        first.append("forged")
        assert json.dumps(env.step("b")[0][:3]) == expected

    def test_messages_can_be_sent_as_they_are(self) -> None:
        """Everything is JSON, whatever the agent did."""
        actions = ["a", None, b"x", {"content": object()}, assistant("b", tool_calls=[call("x", "f", "{")]), "\ud800"]
        for messages in shown(Messages(Script("rules", "one")), actions):
            assert json.loads(json.dumps(messages)) == messages
            assert {message["role"] for message in messages} <= {"user", "assistant", "tool"}
