"""The history of an episode as a conversation: :class:`Messages`, :class:`ConcatChat`, :class:`ConcatChatOnReset`.

The environment is the user, the agent the assistant. A tool's answer is a message of the role ``"tool"``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gem.arguments import boolean, integer
from gem.core import Action, Env, Info
from gem.errors import ArgumentError, ArgumentTypeError
from gem.text import action_text
from gem.wrappers.history import (
    Content,
    HistoryWrapper,
    Message,
    affixes,
    assistant_message,
    content_of,
    copied,
    join,
    latest_turns,
    line,
    piece,
    text_with_calls,
    tool_calls,
)
from gem.wrappers.text_history import ConcatWithAction
from gem_rollout.history.chat_template import (
    ChatTokenizer,
    GrowingPrompt,
    chat_tokenizer,
    render,
    renders_tool_messages,
)
from gem_rollout.history.messages import extended, messages_from_state, other_parts, reply_messages, text_if_possible

__all__ = ["ConcatChat", "ConcatChatOnReset", "Messages", "template_message"]


class Messages(HistoryWrapper):
    """Shows the conversation so far as a list of chat messages, which chat APIs and tokenizers take.

    Actions may be text or assistant messages; native tool calls stay in them, and the observation that answers
    them becomes tool messages with their ids. The answer to a tool call written as text is a message of the
    user, because chat APIs refuse tool messages without a native call. ``prefix`` and ``suffix`` of an info
    stand inside the first and the last message.

    Each observation is a new list, but its messages are shared with other observations: do not change them.

    Args:
        env: the environment.
        announce: say in the first observation that earlier turns will be shown.
    """

    _tool_role = "user"

    def __init__(self, env: Env[Any, Any], announce: bool = False) -> None:
        super().__init__(env, announce)
        self._messages: list[Message] = []

    def _begin(self, observation: Content) -> None:
        self._messages = [{"role": "user", "content": observation}]

    def _extend(self, action: Action, observation: Content, info: Info) -> None:
        message = assistant_message(action, info)
        self._messages += [message, *reply_messages(message, observation, info, self._tool_role)]

    def _shown(self, info: Info) -> list[Message]:
        prefix, suffix = affixes(info)
        messages = list(self._messages)
        messages[0] = extended(messages[0], prefix, "")
        messages[-1] = extended(messages[-1], "", suffix)
        return messages

    def _own_state(self) -> Info:
        return {"messages": copied(self._messages)}

    def _set_own_state(self, state: Info) -> None:
        self._messages = messages_from_state(state["messages"])


class ConcatChat(HistoryWrapper):
    """Shows the conversation so far as one text in the chat format of a tokenizer, ready for completion.

    ``suffix`` of an info stands at the end of the last message, before the opening of the assistant's turn
    (the original put it after the opening, as if the agent had written it). ``prefix`` stands at the beginning of the
    first message.
    If messages contain pictures, the observation is a list of content parts: the text, then the pictures in
    the order in which the text refers to them.

    If the template allows, a late turn costs as much as an early one, except for the copy of the text; see
    :mod:`gem_rollout.history.chat_template`.

    The constructor notices a template that refuses the role ``"tool"``, as Gemma's does. A tool's answer
    is then a message of the user, and native calls are written out in the assistant's text.

    Args:
        env: the environment.
        tokenizer: anything with ``apply_chat_template``, for example one of Hugging Face ``transformers``.
        max_history_length: show only this many of the latest turns, that is one observation more. As
            published, the first observation falls out too, and with it the instructions;
            :class:`gem_rollout.history.context.SlidingWindow` keeps them.
        chat_template_kwargs: passed on to ``apply_chat_template``, for example ``tools`` or ``enable_thinking``.
        announce: say in the first observation which earlier turns will be shown.

    Raises:
        ArgumentError: if the template cannot render a conversation of user and assistant.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        tokenizer: ChatTokenizer | None = None,
        max_history_length: int | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        announce: bool = False,
    ) -> None:
        super().__init__(env, announce)
        self._tokenizer = chat_tokenizer(type(self).__name__, tokenizer)
        self._template_arguments = _checked_arguments(chat_template_kwargs)
        self._max_turns = None
        if max_history_length is not None:
            self._max_turns = integer("max_history_length", max_history_length, minimum=1)
        self._knows_tools = renders_tool_messages(self._tokenizer, self._template_arguments)
        self._prompt = GrowingPrompt(self._tokenizer, self._template_arguments)
        self._messages: list[Message] = []
        self._answers: list[int] = []
        """Index in ``_messages`` at which each observation begins."""
        self._pictures: list[dict[str, Any]] = []

    def _announcement(self) -> str:
        return super()._announcement() if self._max_turns is None else latest_turns(self._max_turns)

    def _begin(self, observation: Content) -> None:
        self._messages, self._answers, self._pictures = [], [], []
        self._prompt.restart()
        self._add([{"role": "user", "content": text_if_possible(observation)}])

    def _extend(self, action: Action, observation: Content, info: Info) -> None:
        message = template_message(assistant_message(action, info))
        answer = reply_messages(message, text_if_possible(observation), info, "tool")
        if not self._knows_tools:
            if tool_calls(message):
                message = {"role": "assistant", "content": text_with_calls(message)}
            # Such templates also want roles to alternate, so several answers are one message.
            contents = [*(piece(reply["content"]) for reply in answer[:-1]), answer[-1]["content"]]
            answer = [{"role": "user", "content": join(contents)}]
        self._messages.append(message)
        self._add(answer)

    def _add(self, answer: list[Message]) -> None:
        self._answers.append(len(self._messages))
        self._messages += answer
        for message in answer:
            self._pictures += other_parts(message["content"])

    def _shown(self, info: Info) -> Content:
        prefix, suffix = affixes(info)
        if not prefix and (self._max_turns is None or len(self._answers) <= self._max_turns + 1):
            return _with_pictures(self._prompt.render(self._messages, suffix), self._pictures)
        messages = list(self._messages)
        if self._max_turns is not None:
            del messages[: self._answers[-self._max_turns - 1 :][0]]
        messages[0] = extended(messages[0], prefix, "")
        messages[-1] = extended(messages[-1], "", suffix)
        text = render(self._tokenizer, messages, self._template_arguments)
        return _with_pictures(text, [part for message in messages for part in other_parts(message["content"])])

    def _own_state(self) -> Info:
        return {"messages": copied(self._messages), "answers": list(self._answers)}

    def _set_own_state(self, state: Info) -> None:
        messages = messages_from_state(state["messages"])
        answers = [integer("answer", index, minimum=0, maximum=len(messages) - 1) for index in state["answers"]]
        self._messages, self._answers = messages, answers
        self._pictures = [part for message in messages for part in other_parts(message["content"])]
        self._prompt.restart()


class ConcatChatOnReset(ConcatWithAction):
    """Shows the first observation in the chat format of a tokenizer, and all later ones as plain text after it.

    Turns after the first are thus part of the assistant's turn, as the agent's own text with answers in it.
    ``suffix`` of an info stands at the end of the observation, on the first turn inside the message; ``prefix``
    at the beginning of the message.

    Args:
        env: the environment.
        tokenizer: anything with ``apply_chat_template``.
        include_action: show the actions as well.
        max_history_length: show only this many of the latest turns; see
            :class:`gem.wrappers.text_history.Concat`.
        chat_template_kwargs: passed on to ``apply_chat_template``.
        announce: say in the first observation what of earlier turns will be shown.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        tokenizer: ChatTokenizer | None = None,
        include_action: bool = True,
        max_history_length: int | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        announce: bool = False,
    ) -> None:
        self._include_action = boolean("include_action", include_action)
        super().__init__(env, max_history_length, announce)
        self._tokenizer = chat_tokenizer(type(self).__name__, tokenizer)
        self._template_arguments = _checked_arguments(chat_template_kwargs)
        self._first: Content = ""
        self._turns = 0
        self._opening: tuple[str, Content] | None = None
        """The first message as text, and the prefix that stands in it."""

    def _begin(self, observation: Content) -> None:
        super()._begin("")
        self._first, self._turns, self._opening = text_if_possible(observation), 0, None

    def _extend(self, action: Action, observation: Content, info: Info) -> None:
        super()._extend(action, observation, info)
        self._turns += 1

    def _shown(self, info: Info) -> Content:
        prefix, suffix = affixes(info)
        if self._turns == 0:
            return self._opened(prefix, suffix)
        if self._max_turns is not None and self._turns > self._max_turns:
            return super()._shown(info)
        if self._opening is None or self._opening[0] != prefix:
            self._opening = (prefix, self._opened(prefix, ""))
        return join((self._opening[1], self._joined, suffix))

    def _opened(self, prefix: str, suffix: str) -> Content:
        message = extended({"role": "user", "content": self._first}, prefix, suffix)
        text = line(render(self._tokenizer, [message], self._template_arguments))
        return _with_pictures(text, other_parts(message["content"]))

    def _own_state(self) -> Info:
        return {**super()._own_state(), "first": copied(self._first), "turns": self._turns}

    def _set_own_state(self, state: Info) -> None:
        first, turns = content_of(copied(state["first"])), integer("turns", state["turns"], minimum=0)
        super()._set_own_state(state)
        self._first, self._turns, self._opening = first, turns, None


def _checked_arguments(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check and return the caller's arguments for ``apply_chat_template``."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"chat_template_kwargs must be a dict, got {type(given).__name__}")
    fixed = sorted({"add_generation_prompt", "conversation", "tokenize"}.intersection(given))
    if fixed:
        raise ArgumentError(f"chat_template_kwargs must leave {', '.join(fixed)} alone")
    return dict(given)


def template_message(message: Message) -> Message:
    """Return an assistant message as chat templates expect it: content is text, arguments of calls are dicts.

    A call whose arguments are not a JSON object has no such form and is written out in the text.
    """
    reasoning = message.get("reasoning_content")
    kept = {"reasoning_content": reasoning} if isinstance(reasoning, str) else {}
    calls = []
    for call in tool_calls(message):
        arguments = call["function"].get("arguments")
        try:
            parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            return {"role": "assistant", "content": text_with_calls(message), **kept}
        calls.append({**call, "function": {**call["function"], "arguments": parsed}})
    text: Message = {"role": "assistant", "content": action_text(message) or "", **kept}
    return {**text, "tool_calls": calls} if calls else text


def _with_pictures(text: str, pictures: list[dict[str, Any]]) -> Content:
    return [{"type": "text", "text": text}, *pictures] if pictures else text
