"""Prompts as token ids that hold exactly what was sampled: :class:`SampledPrompt`, and :func:`render_chat`.

Text that is tokenized again may come out as other ids than those that were sampled. So a prompt is the prompt before,
the ids sampled for it, and the ids of what the chat template puts after the answer: the end of its turn, the new
messages, the opening of the next turn. Where these last ids come from, a template on this machine or a model server, is
the users' part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gem.errors import ArgumentTypeError
from gem.wrappers.history import Message
from gem_rollout.history.chat_history import template_message
from gem_rollout.history.chat_template import ChatTokenizer, render

__all__ = ["SampledPrompt", "render_chat"]


class SampledPrompt:
    """The last prompt of one conversation at a time, with the messages that it shows and what was sampled for it."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget the conversation."""
        self.messages: list[Message] = []
        """What the last prompt shows."""
        self.ids: list[int] = []
        """The last prompt."""
        self.sampled: list[int] | None = None
        """The ids sampled for it; None before."""

    def show(self, messages: Sequence[Message], ids: Sequence[int]) -> None:
        """Note the next prompt and what it shows."""
        self.messages, self.ids, self.sampled = list(messages), list(ids), None

    def new_messages(self, messages: Sequence[Message]) -> list[Message] | None:
        """Return the messages after the answer to the last prompt; None if what was shown before was rewritten.

        Args:
            messages: the whole conversation. The last message that the prompt showed may have had a notice before or
                after it, for that turn only.
        """
        count = len(self.messages)
        if not count or len(messages) <= count or messages[count]["role"] != "assistant":
            return None
        if list(messages[: count - 1]) != self.messages[:-1] or not _is_shown(messages[count - 1], self.messages[-1]):
            return None
        return list(messages[count + 1 :])

    def continued(self, added: Sequence[int]) -> list[int]:
        """Return the next prompt: the last one, what was sampled, and added ids.

        Args:
            added: what follows the answer. An end of the turn that the model has sampled itself is not repeated.
        """
        sampled = self.sampled or []
        repeated = bool(sampled) and list(added[:1]) == sampled[-1:]
        return [*self.ids, *sampled, *added[int(repeated) :]]


def render_chat(tokenizer: ChatTokenizer, messages: Sequence[Message], arguments: Mapping[str, Any]) -> str:
    """Return a conversation as one text, up to the opening of the assistant's next turn.

    The arguments of tool calls are dicts, as most templates want them; they stay text where the template raises for
    dicts, as DeepSeek's does.

    Raises:
        ArgumentTypeError: if the tokenizer returns no text. What the template raises is passed on.
    """
    try:
        return render(tokenizer, [_for_template(message) for message in messages], arguments)
    except ArgumentTypeError:
        raise
    except Exception:
        if not any(message.get("tool_calls") for message in messages):
            raise
        return render(tokenizer, messages, arguments)


def _is_shown(message: Message, before: Message) -> bool:
    """Return whether a message is the one that was shown before, perhaps with a notice for that turn beside it."""
    if message == before:
        return True
    now, then = message.get("content"), before.get("content")
    if message["role"] != before["role"] or not isinstance(now, str) or not isinstance(then, str):
        return False
    return then.startswith(now) or then.endswith(now)


def _for_template(message: Message) -> Message:
    if message.get("tool_calls"):
        return template_message(message)
    return {**message, "content": ""} if message.get("content", "") is None else message
